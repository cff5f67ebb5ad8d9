"""Reads vocabularies: the one that ships, an operator's file in its place, words added in the configuration.

Owns the form of the file and its errors. Does not know what a word means. Invariant: a vocabulary that is extended
stays as it is; another one comes back.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from attrs import evolve
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from phasewalk.machine.errors import ConfigurationError
from phasewalk.phases.problems import first_problem
from phasewalk.phases.vocabulary import Account, Family, Pair, Vocabulary, tokens_of


class _PairDocument(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    verbs: list[str]
    nouns: list[str]


class _AccountDocument(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    phrases: list[str]
    tool: Annotated[str, Field(min_length=1)]


class _FamilyDocument(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    nouns: list[str] = []
    verbs: list[str] = []
    phrases: list[str] = []
    pairs: list[_PairDocument] = []
    content: list[str] = []
    account: _AccountDocument | None = None


WORDS = (
    "actions",
    "looking",
    "products",
    "creations",
    "rewrites",
    "relays",
    "requests",
    "interjections",
    "wishes",
    "fillers",
    "negations",
    "subjects",
    "wanting",
    "turns",
    "soft_turns",
    "about",
    "counts",
    "what_it_says",
    "tells",
    "defines",
    "specific",
    "thanks",
    "no_tools",
    "references",
    "pronouns",
    "pointers",
    "behind_pointers",
    "continues",
    "topics",
    "questions",
    "statements",
    "labels",
    "joins",
    "determiners",
)
"""The lists of `[words]`, which mean something in a request; a file has all of them."""

OTHER = ("plain", "claimed", "claimants", "unclaimed")
"""The lists of `[other]`, which are looked at for typos and in answers; a file has all of them."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    families: dict[str, _FamilyDocument] = Field(min_length=1)
    words: dict[str, list[str]]
    other: dict[str, list[str]]


_KEYS = (*_Document.model_fields, *_FamilyDocument.model_fields, *_AccountDocument.model_fields)


@cache
def shipped() -> Vocabulary:
    """The vocabulary that ships, read once."""
    return parsed(files("phasewalk.phases").joinpath("vocabulary.toml").read_text("utf-8"), "vocabulary.toml")


def load(path: Path) -> Vocabulary:
    """An operator's vocabulary in place of the shipped one; raises `ConfigurationError` naming file and problem."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"vocabulary {path} cannot be read: {error}") from error
    return parsed(text, str(path))


def parsed(text: str, name: str) -> Vocabulary:
    """The vocabulary in this TOML text; `name` is said in errors (`ConfigurationError`)."""
    try:
        document = _Document.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"vocabulary {name} is not TOML: {error}") from error
    except ValidationError as error:
        raise ConfigurationError(f"vocabulary {name}: {first_problem(error, _KEYS)}") from error
    families = tuple(_merged(Family(family), spec, name) for family, spec in document.families.items())
    words = _lists(document.words, WORDS, f"vocabulary {name}: [words]")
    return Vocabulary(families, words, _lists(document.other, OTHER, f"vocabulary {name}: [other]"))


def _lists(found: Mapping[str, list[str]], due: Sequence[str], place: str) -> dict[str, frozenset[str]]:
    if set(found) != set(due):
        differing = ", ".join(sorted(set(found) ^ set(due)))
        raise ConfigurationError(f"{place} must hold exactly {', '.join(due)}; wrong: {differing}")
    return {kind: frozenset(found[kind]) for kind in due}


def extended(vocabulary: Vocabulary, additions: Mapping[str, Mapping[str, Any]]) -> Vocabulary:
    """The vocabulary with words added to its families and new families after them (`[families.X]`).

    `additions` maps a family to its `nouns`, `verbs`, `phrases`, `pairs`, `content` and `account`. Raises
    `ConfigurationError` naming family and problem.
    """
    families = {family.name: family for family in vocabulary.families}
    for name, addition in additions.items():
        try:
            spec = _FamilyDocument.model_validate(dict(addition))
        except ValidationError as error:
            raise ConfigurationError(f"[families.{name}]: {first_problem(error, _KEYS)}") from error
        families[name] = _merged(families.get(name, Family(name)), spec, f"[families.{name}]")
    return evolve(vocabulary, families=tuple(families.values()))


def _merged(family: Family, spec: _FamilyDocument, place: str) -> Family:
    paired = [word for pair in spec.pairs for word in (*pair.verbs, *pair.nouns)]
    account = Account(tuple(spec.account.phrases), spec.account.tool) if spec.account else None
    spoken = [*spec.nouns, *spec.verbs, *spec.phrases, *paired, *(account.phrases if account else ())]
    for word in spoken:
        if not any(token[0].isalnum() for token in tokens_of(word)):
            raise ConfigurationError(f"{place}: {word!r} holds no word; accepted are words and phrases")
    return Family(
        name=family.name,
        nouns=(*family.nouns, *spec.nouns),
        verbs=(*family.verbs, *spec.verbs),
        phrases=(*family.phrases, *spec.phrases),
        pairs=(*family.pairs, *(Pair(tuple(pair.verbs), tuple(pair.nouns)) for pair in spec.pairs)),
        content=family.content | set(spec.content),
        account=account or family.account,
    )
