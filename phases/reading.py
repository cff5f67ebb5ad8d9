"""Reads one part of a message: what it names, whether it asks, what it denies, what it refers to.

Owns the questions to a part, by the vocabulary's entries in it. Does not know other parts, earlier turns or tools.
Invariant: `end` is always the token where the part stops counting.
"""

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from phasewalk.phases.vocabulary import Hit, Vocabulary
from phasewalk.phases.wording import MARKS, Part

SHORT = 5
"""A fragment without a verb ("my notes for today") or a reference ("do that again") has at most these words."""

Words = Mapping[str, tuple[str, ...]]
"""The words that named each family, families in the order of the text."""


@frozen
class Cover:
    """Words that deny, ask about a feature or thank: nothing from the token `start` on is granted.

    `lasts` says how far it goes: over the parts of the sentence that follow, over those that "and" joins, or nowhere.
    """

    words: str
    start: int
    lasts: Literal["on", "by and", ""] = ""

    def over(self, part: Part) -> bool:
        """Whether it covers this part, which follows in the sentence."""
        return self.lasts == "on" or (self.lasts == "by and" and part.tokens[:1] in _ANDS)


_ANDS = (("and",), ("or",), ("&",))
NO_COVER = Cover("", 0)


@frozen
class Reference:
    """Words that mean something of an earlier turn; `acts` when they ask for a deed, `repeats` when for the same."""

    words: str
    acts: bool
    repeats: bool = False


@frozen
class Named:
    """The families that a part names; `strong` when by more than verbs, `closes` when all the rest is content."""

    words: Words
    strong: bool
    closes: bool = False


class _Naming:
    """The families named so far in a part: by nouns and phrases, and apart from them by verbs."""

    def __init__(self) -> None:
        self.strong: dict[str, dict[str, None]] = {}
        self.weak: dict[str, dict[str, None]] = {}
        self._pairs: dict[tuple[str, int], dict[str, str]] = {}

    def add(self, hit: Hit) -> None:
        """Take an entry in; half a pair waits for its other half."""
        for role in hit.roles:
            if role.kind in ("noun", "phrase", "account"):
                self.strong.setdefault(role.family, {})[hit.words] = None
            elif role.kind == "verb":
                self.weak.setdefault(role.family, {})[hit.words] = None
            elif role.kind in ("pair_noun", "pair_verb"):
                pair = self._pairs.setdefault((role.family, role.pair), {})
                pair.setdefault(role.kind, hit.words)
                if "pair_noun" in pair and "pair_verb" in pair:
                    self.strong.setdefault(role.family, {})[pair["pair_noun"]] = None

    @property
    def words(self) -> Words:
        """Nouns beat verbs (CON-04)."""
        return {family: tuple(words) for family, words in (self.strong or self.weak).items()}


class Reading:
    """Questions about one part; `end` is always the token where it stops counting."""

    def __init__(self, part: Part, vocabulary: Vocabulary) -> None:
        self.part = part
        self._vocabulary = vocabulary
        self._hits_by_start = {hit.start: hit for hit in part.hits}
        self._opening = self._open()

    def _open(self) -> tuple[Hit, ...]:
        """The entries at the very beginning, up to the first that is neither filler, request nor wish."""
        opening: list[Hit] = []
        place = 0
        for hit in self.part.hits:
            if any(token not in (",", "&") for token in self.part.tokens[place : hit.start]):
                break
            place = hit.end
            if hit.has("fillers", "joins") and not hit.has("requests", "turns"):
                continue
            opening.append(hit)
            if not hit.has("requests", "wishes", "turns"):
                break
        return tuple(opening)

    @property
    def opening_word(self) -> int:
        """Where the first word stands that is neither filler nor request."""
        skipped = [hit.end for hit in self._opening if not hit.has(*_DEEDS)]
        place = max(skipped, default=0)
        while place < len(self.part.tokens) and self._is_filler(place):
            place += 1
        return place

    def _is_filler(self, place: int) -> bool:
        token = self.part.tokens[place]
        return token in MARKS or token in self._vocabulary.words["fillers"]

    def cover(self) -> Cover:
        """What the part says to take back: a negation, a question about a feature, thanks."""
        for hit in self.part.hits:
            if hit.has("thanks"):
                return Cover(hit.words, hit.start)
            if hit.has("negations") and not self._only_answers(hit):
                return Cover(hit.words, hit.start, "by and" if self._tells_of_somebody(hit) else "on")
            if hit.has("about"):
                counted = any(one.has("counts") for one in self.part.hits if one.start < hit.start)
                return Cover(hit.words, 0 if counted else hit.start, "on")
            if hit.has("defines", "what_it_says") and not self._is_specific(hit):
                return Cover(hit.words, hit.start, "on")
        return Cover("", len(self.part.tokens))

    @property
    def begins_anew(self) -> bool:
        """Whether it says that something is wanted, whatever was denied before."""
        return any(hit.has("requests", "wishes") for hit in self._opening)

    def _tells_of_somebody(self, negation: Hit) -> bool:
        """Whether the negation forbids nothing: "I can't find it" against "I don't want it" and "don't find it"."""
        words, tokens = self._vocabulary.words, self.part.tokens
        before, after = tokens[max(negation.start - 3, 0) : negation.start], tokens[negation.end : negation.end + 2]
        return not words["subjects"].isdisjoint(before) and words["wanting"].isdisjoint(after)

    def _only_answers(self, hit: Hit) -> bool:
        """Whether this "no" answers something: "no, put it into my calendar"."""
        return hit.words == "no" and hit.start == 0 and self.part.tokens[1:2] in ((), (",",))

    def _is_specific(self, hit: Hit) -> bool:
        words, following = self._vocabulary.words, "".join(self.part.tokens[hit.end : hit.end + 1])
        told = not hit.has("what_it_says") or not words["tells"].isdisjoint(self.part.tokens[hit.end :])
        return told and (following in words["specific"] or following.endswith("'s"))

    def named(self, end: int) -> Named:
        """The families named before `end`, their content, or what is to be said about them."""
        named, deed = _Naming(), self.deed(end)
        place = 0
        while place < end:
            if self._begins_content(named, place):
                return Named(named.words, bool(named.strong), closes=self.part.tokens[place] == ":")
            hit = self._hits_by_start.get(place)
            if hit is not None and (hit.has("relays") or (deed is not None and hit.has("creations"))):
                break
            if hit is not None:
                named.add(hit)
            place = hit.end if hit is not None else place + 1
        return Named(named.words, bool(named.strong))

    def _begins_content(self, named: _Naming, place: int) -> bool:
        """Whether the content of a named family begins at this token (`content` of the vocabulary).

        Not where a target follows: "to my calendar", and after a mere verb "search for my notes".
        """
        token = self.part.tokens[place]
        families = [*named.strong, *named.weak]
        if not any(token in self._vocabulary.content[family] for family in families):
            return False
        following = self.part.tokens[place + 1 : place + 2]
        targets = bool(following) and following[0] in self._vocabulary.words["determiners"]
        return not (targets and (token == "to" or (not named.strong and token not in (":", "that"))))

    def asks(self, end: int) -> bool:
        """Whether the part is a request, a wish, a question, a label ("note: ...") or a bare fragment."""
        opening = [hit for hit in self._opening if hit.start < end]
        if self.part.question or any(hit.has(*_ASKING) for hit in opening):
            return True
        first = opening[0] if opening else None
        if first is not None and self.part.tokens[first.end : first.end + 1] == (":",):
            return True
        return self._is_fragment(first)

    def _is_fragment(self, first: Hit | None) -> bool:
        """Whether the part is a few words around a noun, without a statement: "my notes for today"."""
        states = any(hit.has("statements") for hit in self.part.hits) or any(t.endswith("ed") for t in self.part.tokens)
        begins = first is not None and first.has("noun", "account", "determiners")
        return begins and not states and self.part.words <= SHORT

    def deed(self, end: int) -> Hit | None:
        """The verb that the part asks for, where it begins with one."""
        return next((hit for hit in self._opening if hit.start < end and hit.has(*_DEEDS)), None)

    def unserved(self, end: int) -> str:
        """The action that is asked for although no family is named."""
        deed = self.deed(end)
        wished = any(hit.has("wishes") for hit in self._opening)
        return "" if deed is None or wished or not deed.has("actions") or self.wants_words(end) else deed.words

    def wants_words(self, end: int) -> bool:
        """Whether it asks for something that is made of words alone, such as a joke."""
        return self.deed(end) is not None and any(
            hit.has("products", "creations") for hit in self.part.hits if hit.start < end
        )

    def reference(self, end: int) -> Reference | None:
        """What it refers to instead of naming it: "do that again", "delete it", "complete number 2" (CON-03)."""
        repeat = next((hit for hit in self.part.hits if hit.start < end and hit.has("references")), None)
        if repeat is not None and self.part.words <= SHORT:
            return Reference(repeat.words, acts=True, repeats=True)
        deed = self.deed(end)
        place = 0 if deed is None else deed.end + (self.part.tokens[deed.end : deed.end + 1] in (("me",), ("us",)))
        if deed is None or not self._means_earlier(place):
            return None
        meant = self._hits_by_start.get(place)
        words = meant.words if meant is not None else self.part.tokens[place]
        return Reference(f"{deed.words} {words}", acts=deed.has("actions"))

    def _means_earlier(self, place: int) -> bool:
        """Whether a pronoun or a number stands here for something; "this" and "that" may only point: "that song"."""
        hit, tokens = self._hits_by_start.get(place), self.part.tokens
        if hit is None:
            return "".join(tokens[place : place + 1]).isdigit()
        following = tokens[hit.end : hit.end + 1]
        alone = not following or following[0] in MARKS or following[0] in self._vocabulary.words["behind_pointers"]
        return hit.has("pronouns") or (hit.has("pointers") and alone)

    def is_exactly(self, family: str) -> bool:
        """Whether it asks for one's account with this family, and for nothing else (CON-06)."""
        covered = [range(hit.start, hit.end) for hit in self.part.hits if hit.has("account", *_AROUND_ACCOUNT)]
        places = {place for place, token in enumerate(self.part.tokens) if token not in MARKS}
        asked = any(role.kind == "account" and role.family == family for hit in self.part.hits for role in hit.roles)
        return asked and places <= {place for each in covered for place in each}


_DEEDS = ("actions", "looking", "verb")
_AROUND_ACCOUNT = ("fillers", "joins", "requests", "looking", "questions", "defines", "statements")
_ASKING = ("actions", "looking", "verb", "phrase", "pair_verb", "requests", "wishes", "questions", "what_it_says")
"""Entries that make what they begin a request."""
