"""The configuration as it counts, key by key, for people and programs.

Owns what stands in the place of a secret: whether it is set. Invariant: no value of a secret is in what leaves here,
also where one was written into the wrong key.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from phasewalk.machine.redaction import Redactor
from phasewalk.surfaces.portal import TOKEN
from phasewalk.surfaces.sections import Configuration

SET, NOT_SET = "set", "not set"


def redactor(configuration: Configuration, environment: Mapping[str, str]) -> Callable[[str], str]:
    """Takes every secret that is known here out of a text."""
    return Redactor([value for name in _names(configuration) if (value := environment.get(name))])


def values(configuration: Configuration, redact: Callable[[str], str]) -> dict[str, Any]:
    """Every key with its value, as `section.key`."""
    document = configuration.model_dump(mode="json", by_alias=True)
    return {key: _clean(value, redact) for key, value in _flat(document, "")}


def secrets(configuration: Configuration, environment: Mapping[str, str]) -> dict[str, str]:
    """Every variable that holds a secret, and whether it is set."""
    return {name: SET if environment.get(name, "").strip() else NOT_SET for name in _names(configuration)}


def _names(configuration: Configuration) -> list[str]:
    keys = [provider.api_key_env for provider in configuration.providers] or ["OPENAI_API_KEY"]
    return list(dict.fromkeys([TOKEN, *(key for key in keys if key), *configuration.policy.secrets_env]))


def _flat(value: object, place: str) -> Iterator[tuple[str, object]]:
    """The leaves of tables, and of lists of tables with their number, as TOML would name them."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{place}[{number}]")
    else:
        yield place, value


def _clean(value: object, redact: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_clean(one, redact) for one in value]
    return value
