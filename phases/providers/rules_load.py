"""The rules of the embedded responder: their form in TOML, and the values made of them (OPS-02).

Owns loading and its errors. Does not know when a rule is asked or what becomes of its answer. Invariant: a rule
that was loaded has one condition and one action, and its pattern compiles.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from attrs import frozen
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from phasewalk.machine.errors import ConfigurationError
from phasewalk.phases.problems import first_problem
from phasewalk.phases.providers.rules_faq import Entry, entries_in

Action = Literal["answer", "tool", "staff", "silence"]
PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PART = re.compile(r"\(\?&([\w-]+)\)")
_ACTIONS: tuple[Action, ...] = ("answer", "tool", "staff", "silence")


@frozen
class Rule:
    """One rule. `text` is the answer or staff note, `tool` and `arguments` the call; `origin` names it for people."""

    origin: str
    pattern: re.Pattern[str]
    action: Action
    text: str = ""
    tool: str = ""
    arguments: Mapping[str, object] = {}
    only_addressed: bool = True

    def match(self, text: str) -> dict[str, str] | None:
        """What the placeholders stand for when `text` matches: `{text}` and the named groups, blanks cut off."""
        return next((values for _, values in self.matches(text)), None)

    def matches(self, text: str) -> Iterator[tuple[range, dict[str, str]]]:
        """Every place of `text` that matches, with what the placeholders stand for there."""
        for found in self.pattern.finditer(text):
            values = {name: (value or "").strip() for name, value in found.groupdict().items()}
            yield range(*found.span()), {"text": text, **values}


@frozen
class Rules:
    """Everything that the responder answers from: the operator's rules, the FAQ, and those that ship."""

    operator: tuple[Rule, ...]
    faq: tuple[Entry, ...]
    shipped: tuple[Rule, ...]
    no_answer: str


NonBlank = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _RuleDocument(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    keywords: Annotated[list[NonBlank], Field(min_length=1)] | None = None
    pattern: NonBlank | None = None
    answer: NonBlank | None = None
    tool: NonBlank | None = None
    arguments: dict[str, Any] | None = None
    staff: NonBlank | None = None
    silence: Literal[True] | None = None
    only_addressed: bool = Field(default=True, alias="only-addressed")


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    no_answer: NonBlank | None = Field(default=None, alias="no-answer")
    parts: dict[str, NonBlank] = {}
    rules: list[_RuleDocument] = []


_KEYS = tuple(f.alias or name for model in (_Document, _RuleDocument) for name, f in model.model_fields.items())


def load_rules(path: Path | None, faq_path: Path | None) -> Rules:
    """The operator's rules and FAQ, either of which may be missing, before the rules that ship.

    Raises `ConfigurationError` naming the file and, in one sentence, what is wrong in it.
    """
    shipped, no_answer = _shipped()
    operator, own_no_answer = _parsed(_read(path, "rules"), str(path)) if path is not None else ((), "")
    faq = _faq(faq_path) if faq_path is not None else ()
    return Rules(operator, faq, shipped, own_no_answer or no_answer)


@cache
def _shipped() -> tuple[tuple[Rule, ...], str]:
    text = files("phasewalk.phases.providers").joinpath("rules.toml").read_text("utf-8")
    return _parsed(text, "rules.toml")


def _faq(path: Path) -> tuple[Entry, ...]:
    entries = entries_in(_read(path, "FAQ"))
    if not entries:
        raise ConfigurationError(f"FAQ file {path} holds no question; write '## Question' and its answer below it")
    return entries


def _read(path: Path, what: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{what} file {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{what} file {path} is not UTF-8 text: {error.reason}") from error


def _parsed(text: str, name: str) -> tuple[tuple[Rule, ...], str]:
    try:
        document = _Document.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"rules file {name} is not TOML: {error}") from error
    except ValidationError as error:
        raise ConfigurationError(f"rules file {name}: {first_problem(error, _KEYS)}") from error
    parts: dict[str, str] = {}
    for part, pattern in document.parts.items():
        parts[part] = _put_together(pattern, parts, f"{name}, part {part}")
    rules = tuple(_rule(spec, parts, f"{name}, rule {number}") for number, spec in enumerate(document.rules, 1))
    return rules, document.no_answer or ""


def _put_together(pattern: str, parts: Mapping[str, str], origin: str) -> str:
    """`pattern` with each `(?&name)` replaced by the part of that name, which stands before it in the file."""
    for name in _PART.findall(pattern):
        if name not in parts:
            raise ConfigurationError(
                f"rules file {origin}: part {name!r} is not known; known here are {', '.join(parts) or 'none'}"
            )
    return _PART.sub(lambda found: f"(?:{parts[found[1]]})", pattern)


def _rule(spec: _RuleDocument, parts: Mapping[str, str], origin: str) -> Rule:
    if (spec.keywords is None) == (spec.pattern is None):
        raise ConfigurationError(f"rules file {origin}: it needs exactly one of keywords and pattern")
    actions = [name for name in _ACTIONS if getattr(spec, name) is not None]
    if len(actions) != 1:
        named = " and ".join(actions) or "none"
        raise ConfigurationError(f"rules file {origin}: it needs exactly one of {', '.join(_ACTIONS)}; it has {named}")
    if spec.arguments is not None and spec.tool is None:
        raise ConfigurationError(f"rules file {origin}: arguments are accepted beside tool only")
    rule = Rule(
        origin=origin,
        pattern=_compiled(spec, parts, origin),
        action=actions[0],
        text=spec.answer or spec.staff or "",
        tool=spec.tool or "",
        arguments=spec.arguments or {},
        only_addressed=spec.only_addressed,
    )
    _check_placeholders(rule)
    return rule


def _compiled(spec: _RuleDocument, parts: Mapping[str, str], origin: str) -> re.Pattern[str]:
    """The pattern as given, its parts filled in, or one that finds any of the keywords as whole words."""
    words = "|".join(r"\s+".join(re.escape(word) for word in keyword.split()) for keyword in spec.keywords or ())
    given = _put_together(spec.pattern, parts, origin) if spec.pattern is not None else rf"(?<!\w)(?:{words})(?!\w)"
    try:
        return re.compile(given, re.IGNORECASE | re.DOTALL)
    except re.error as error:
        raise ConfigurationError(
            f"rules file {origin}: pattern {spec.pattern!r} is no regular expression: {error}"
        ) from error


def _check_placeholders(rule: Rule) -> None:
    """A misspelt placeholder would reach the tool as text; in answers other braces are left alone."""
    known = {"text", *rule.pattern.groupindex}
    for name in PLACEHOLDER.findall(str(rule.arguments)):
        if name not in known:
            raise ConfigurationError(
                f"rules file {rule.origin}: placeholder {{{name}}} is not known; known are {', '.join(sorted(known))}"
            )
