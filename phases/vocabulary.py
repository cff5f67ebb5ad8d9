"""The vocabulary by which messages are classified: families with their words, and the words around them.

Owns the data's shape and the index that finds entries in a text. Does not know where it comes from, nor what follows
from a word. Invariant: a vocabulary is frozen.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from attrs import field, frozen

TOKEN = re.compile(r"\w+(?:[-'._/+]\w+)*|[:,?&]|[.!;\n\u2026\u3002\uff01]+|\uff1f")
"""Words, with what joins them inside, and the marks that part them."""


def tokens_of(text: str) -> list[str]:
    """The words and marks of `text`, lower case, apostrophes made straight, letters of other widths made plain."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return TOKEN.findall(text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


@frozen
class Role:
    """What an entry means: a word of a family (`noun`, `verb`, `phrase`, `pair_verb`, `pair_noun`, `account`) or of
    a list of `[words]`.
    """

    kind: str
    family: str = ""
    pair: int = 0


@frozen
class Pair:
    """Verbs and nouns that select a family only together."""

    verbs: tuple[str, ...]
    nouns: tuple[str, ...]


@frozen
class Account:
    """Phrases that ask for one's account with a family, and the tool that tells it (CON-06)."""

    phrases: tuple[str, ...]
    tool: str


@frozen
class Family:
    """A capability and the words that name it."""

    name: str
    nouns: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    content: frozenset[str] = frozenset()
    account: Account | None = None

    def entries(self) -> Iterable[tuple[str, Role]]:
        """Every entry with its role; nouns also in the plural."""
        for kind, words in (("noun", self.nouns), ("verb", self.verbs), ("phrase", self.phrases)):
            yield from _with_role(words, Role(kind, self.name))
        for number, pair in enumerate(self.pairs):
            yield from _with_role(pair.verbs, Role("pair_verb", self.name, number))
            yield from _with_role(pair.nouns, Role("pair_noun", self.name, number))
        if self.account is not None:
            yield from _with_role(self.account.phrases, Role("account", self.name))


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


SPELT = 4
"""Letters that a word must have for its typos to be read."""

_SPELT = ("noun", "verb", "pair_noun")


ByLetter = Mapping[str, tuple[str, ...]]
"""Words by their first letters."""


@frozen
class Vocabulary:
    """Families in order, the lists of `[words]`, and those of `[other]`.

    `spelt` are the words of families of which typos are read, `deeds` the verbs that begin a request, both by their
    first letters; `known` is what is no typo; `accounts` are the tools that tell one's account, by family.
    """

    families: tuple[Family, ...]
    words: Mapping[str, frozenset[str]]
    other: Mapping[str, frozenset[str]] = field(factory=dict)
    content: Mapping[str, frozenset[str]] = field(init=False, eq=False, repr=False)
    accounts: Mapping[str, str] = field(init=False, eq=False, repr=False)
    spelt: ByLetter = field(init=False, eq=False, repr=False)
    deeds: ByLetter = field(init=False, eq=False, repr=False)
    index: Index = field(init=False, eq=False, repr=False)
    known: frozenset[str] = field(init=False, eq=False, repr=False)

    @content.default
    def _content(self) -> Mapping[str, frozenset[str]]:
        return {family.name: family.content for family in self.families}

    @accounts.default
    def _accounts(self) -> Mapping[str, str]:
        return {family.name: family.account.tool for family in self.families if family.account is not None}

    @spelt.default
    def _spelt(self) -> ByLetter:
        entries = [entry for family in self.families for entry, role in family.entries() if role.kind in _SPELT]
        return _single(entries)

    @deeds.default
    def _deeds(self) -> ByLetter:
        paired = [verb for family in self.families for pair in family.pairs for verb in pair.verbs]
        return _single([*self.words["actions"], *self.words["looking"], *self.words["requests"], *paired])

    @known.default
    def _known(self) -> frozenset[str]:
        entries = {token for found in self.index.values() for tokens, _ in found for token in tokens}
        return frozenset(entries) | self.other.get("plain", frozenset())

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


def _single(entries: Iterable[str]) -> ByLetter:
    """The entries of one word that is long enough for its typos to be read."""
    words = sorted({entry for entry in entries if len(entry) >= SPELT and entry.isalpha()})
    return {letter: tuple(found) for letter, found in groupby(words, lambda word: word[0])}


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
