"""The configuration file, checked: `phasewalk.toml` to plain values.

Owns the reading and the sentences of its errors: unknown keys are refused with the nearest known one and the line
where they stand. The keys themselves are those of `sections`.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from phasewalk.machine.errors import ConfigurationError
from phasewalk.surfaces.sections import Configuration, FamilySection, nearest

DEFAULT_FILE = "phasewalk.toml"


def load_configuration(path: Path | None) -> Configuration:
    """The configuration of `path`, else of `phasewalk.toml` in the current folder, else all defaults.

    Raises `ConfigurationError` with one sentence for a missing or unreadable file, wrong TOML, unknown keys and
    wrong values, naming the line.
    """
    if path is None:
        path = Path(DEFAULT_FILE)
        if not path.exists():
            return Configuration()
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not UTF-8 text") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from error
    try:
        configuration = Configuration.model_validate(document)
    except ValidationError as error:
        raise ConfigurationError(_sentence(path, text, error)) from error
    _check_names(path, configuration)
    return configuration.model_copy(update={"folder": path.parent})


def _check_names(path: Path, configuration: Configuration) -> None:
    names = [provider.name for provider in configuration.providers]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ConfigurationError(f"{path}: two providers are called {min(twice)!r}; each needs a name of its own")


def _sentence(path: Path, text: str, error: ValidationError) -> str:
    """The first problem in one sentence: file, line, key, what is wrong, what would do."""
    first = error.errors()[0]
    place = [part for part in first["loc"] if isinstance(part, str)]
    key = ".".join(place)
    line = _line_of(text, first["loc"])
    at = f"{path}, line {line}" if line else str(path)
    if first["type"] == "extra_forbidden":
        return f"{at}: unknown key '{key}'{nearest(place[-1], _known_keys(place[:-1]))}"
    problem = _PLAIN.get(first["type"], str(first["msg"]).removeprefix("Value error, "))
    given = first["input"]
    shown = (
        f", not {given!r}"
        if isinstance(given, str | int | float | bool) and "error" not in first.get("ctx", {})
        else ""
    )
    return f"{at}: '{key}': {problem[:1].lower()}{problem[1:]}{shown}"


_PLAIN = {
    "model_type": "a table is due, such as [bot]",
    "list_type": 'a list is due, such as ["a", "b"], or tables in double brackets, such as [[providers]]',
    "dict_type": "a table of names and values is due",
}
"""What pydantic calls by names of its own."""


def _known_keys(place: list[str]) -> list[str]:
    """The keys of the section that `place` leads to."""
    section: Any = Configuration
    for part in place:
        for field in section.model_fields.values() if hasattr(section, "model_fields") else ():
            if field.alias == part:
                section = _section_in(field.annotation)
                break
        else:
            section = FamilySection
    fields = getattr(section, "model_fields", Configuration.model_fields)
    return [str(field.alias) for field in fields.values() if not field.exclude]


def _section_in(annotation: Any) -> Any:
    """The section class inside an annotation such as `list[ProviderSection]`."""
    arguments = getattr(annotation, "__args__", ())
    return next((a for a in reversed(arguments) if isinstance(a, type) and issubclass(a, BaseModel)), annotation)


def _line_of(text: str, place: tuple[int | str, ...]) -> int | None:
    """The line of the file where the key stands; TOML's own reader does not tell."""
    if not place:
        return None
    index = next((part for part in place if isinstance(part, int)), 0)
    names = [part for part in place if isinstance(part, str)]
    section = r"\s*\.\s*".join(re.escape(name) for name in names[:-1])
    header = re.compile(rf"^\s*\[+\s*{section}\s*\]+")
    key = re.compile(rf"^\s*[\"']?{re.escape(names[-1])}[\"']?\s*(=|\.|\])|^\s*\[+[^\]]*\b{re.escape(names[-1])}\s*\]")
    seen = -1 if len(names) > 1 else 0
    for number, line in enumerate(text.splitlines(), 1):
        if len(names) > 1 and header.match(line):
            seen += 1
        elif seen >= (index if line and len(names) > 1 else 0) and key.match(line):
            return number
    return None
