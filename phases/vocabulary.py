"""The vocabulary by which messages are classified: families with their words, and the words around them.

Owns the data's shape, its loading from TOML, and the index that finds entries in a text. Does not know what
follows from a word; that is `classify.py`. Invariant: a vocabulary is frozen; extending it makes another.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from phasewalk.machine.errors import ConfigurationError
from phasewalk.phases.problems import first_problem

TOKEN = re.compile(r"\w+(?:[-'._/+]\w+)*|[:,?&]|[.!;\n\u2026\u3002\uff01]+|\uff1f")
"""Words, with what joins them inside, and the marks that part them."""


def tokens_of(text: str) -> list[str]:
    """The words and marks of `text`, lower case, apostrophes made straight."""
    return TOKEN.findall(text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


@frozen
class Role:
    """What an entry means: a word of a family (`noun`, `verb`, `phrase`, `pair_verb`, `pair_noun`) or of `[words]`."""

    kind: str
    family: str = ""
    pair: int = 0


@frozen
class Pair:
    """Verbs and nouns that select a family only together."""

    verbs: tuple[str, ...]
    nouns: tuple[str, ...]


@frozen
class Family:
    """A capability and the words that name it."""

    name: str
    nouns: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    content: frozenset[str] = frozenset()

    def entries(self) -> Iterable[tuple[str, Role]]:
        """Every entry with its role; nouns also in the plural."""
        for kind, words in (("noun", self.nouns), ("verb", self.verbs), ("phrase", self.phrases)):
            yield from _with_role(words, Role(kind, self.name))
        for number, pair in enumerate(self.pairs):
            yield from _with_role(pair.verbs, Role("pair_verb", self.name, number))
            yield from _with_role(pair.nouns, Role("pair_noun", self.name, number))


@frozen
class Hit:
    """An entry found in a text: its words, where it stands, what it may mean."""

    start: int
    end: int
    words: str
    roles: tuple[Role, ...]

    def has(self, *kinds: str) -> bool:
        """Whether it may be one of these."""
        return any(role.kind in kinds for role in self.roles)


Index = Mapping[str, tuple[tuple[tuple[str, ...], tuple[Role, ...]], ...]]


@frozen
class Vocabulary:
    """Families in order, and the lists of `[words]`."""

    families: tuple[Family, ...]
    words: Mapping[str, frozenset[str]]
    content: Mapping[str, frozenset[str]] = field(init=False, eq=False, repr=False)
    index: Index = field(init=False, eq=False, repr=False)

    @content.default
    def _content(self) -> Mapping[str, frozenset[str]]:
        return {family.name: family.content for family in self.families}

    @index.default
    def _index(self) -> Index:
        roles: dict[tuple[str, ...], dict[Role, None]] = {}
        listed = [(word, Role(kind)) for kind, words in self.words.items() for word in sorted(words)]
        for entry, role in (*(e for family in self.families for e in family.entries()), *listed):
            roles.setdefault(tuple(tokens_of(entry)), {})[role] = None
        by_first: dict[str, list[tuple[tuple[str, ...], tuple[Role, ...]]]] = {}
        for tokens in sorted(roles, key=len, reverse=True):
            by_first.setdefault(tokens[0], []).append((tokens, tuple(roles[tokens])))
        return {first: tuple(entries) for first, entries in by_first.items()}

    def hit_at(self, tokens: Sequence[str], start: int) -> Hit | None:
        """The longest entry that begins at `start`."""
        for entry, roles in self.index.get(tokens[start], ()):
            if tuple(tokens[start : start + len(entry)]) == entry:
                return Hit(start, start + len(entry), " ".join(entry), roles)
        return None


def _with_role(words: Iterable[str], role: Role) -> Iterable[tuple[str, Role]]:
    plural = role.kind in ("noun", "pair_noun")
    for word in words:
        yield word, role
        if plural:
            yield _plural(word), role


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if re.search(r"[^aeiou]y$", noun) else noun + "s"


class _PairDocument(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    verbs: list[str]
    nouns: list[str]


class _FamilyDocument(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    nouns: list[str] = []
    verbs: list[str] = []
    phrases: list[str] = []
    pairs: list[_PairDocument] = []
    content: list[str] = []


WORDS = (
    "actions",
    "looking",
    "products",
    "requests",
    "wishes",
    "fillers",
    "negations",
    "turns",
    "soft_turns",
    "about",
    "defines",
    "specific",
    "thanks",
    "no_tools",
    "references",
    "questions",
    "statements",
    "labels",
    "joins",
    "determiners",
)
"""The lists of `[words]`; a file has all of them."""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    families: dict[str, _FamilyDocument] = Field(min_length=1)
    words: dict[str, list[str]]


_KEYS = (*_Document.model_fields, *_FamilyDocument.model_fields)


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
    if set(document.words) != set(WORDS):
        differing = ", ".join(sorted(set(document.words) ^ set(WORDS)))
        raise ConfigurationError(f"vocabulary {name}: [words] must hold exactly {', '.join(WORDS)}; wrong: {differing}")
    families = tuple(_merged(Family(family), spec, name) for family, spec in document.families.items())
    return Vocabulary(families, {kind: frozenset(document.words[kind]) for kind in WORDS})


def extended(vocabulary: Vocabulary, additions: Mapping[str, Mapping[str, Any]]) -> Vocabulary:
    """The vocabulary with words added to its families and new families after them (`[families.X]`).

    `additions` maps a family to its `nouns`, `verbs`, `phrases`, `pairs` and `content`, each a list. Raises
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
    spoken = [*spec.nouns, *spec.verbs, *spec.phrases, *(w for pair in spec.pairs for w in (*pair.verbs, *pair.nouns))]
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
    )
