"""Decides which families of tools a message asks for, by words alone (CON-01 to CON-08).

Owns the decision. Does not know which tools exist or what is permitted. Invariant: the same text and vocabulary
give the same classification, and what is forbidden, quoted or asked about as a feature selects nothing.
"""

from collections.abc import Mapping

from attrs import define, field, frozen

from phasewalk.machine.contract import Classification
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import CLASSIFY
from phasewalk.phases.vocabulary import Hit, Vocabulary, shipped
from phasewalk.phases.wording import Part, sentences

SHORT = 5
"""A fragment without a verb ("my notes for today") or a reference ("do that again") has at most these words."""

Words = Mapping[str, tuple[str, ...]]
"""The words that named each family, families in the order of the text."""


async def classify(turn: Turn, ports: Ports) -> Report:
    """Report what the trigger's text asks for; the words that decided are its evidence."""
    chosen = ports.settings.vocabulary
    vocabulary = chosen if isinstance(chosen, Vocabulary) else shipped()
    said = without_name(turn.trigger.text, ports.settings.bot_name)
    return Report("classified", {"classification": classify_text(said, vocabulary)})


PHASE = Phase(CLASSIFY, classify, frozenset({"classified"}), frozenset({"classification"}))


def without_name(text: str, bot_name: str) -> str:
    """`text` without the bot's name at its beginning: "helper, show my notes" asks the same as "show my notes"."""
    addressed = text.lstrip(" @")
    if not bot_name or not addressed.casefold().startswith(bot_name.casefold()):
        return text
    rest = addressed[len(bot_name) :]
    return rest.lstrip(" ,:;") if rest[:1] in (" ", ",", ":", ";") else text


def classify_text(text: str, vocabulary: Vocabulary) -> Classification:
    """What `text` asks for. Pure; well under a millisecond for a message of ordinary length."""
    found = _Found()
    for sentence in sentences(text, vocabulary):
        covered = ""
        for part in sentence:
            if any(hit.has("no_tools") for hit in part.hits):
                return Classification("none", (), ("no tools",))
            covered = found.take(_Reading(part, vocabulary), "" if part.reset else covered)
            if found.closed:
                return found.classification()
    return found.classification()


@define
class _Found:
    """What has been found so far; `closed` when the rest of the message is content."""

    families: dict[str, dict[str, None]] = field(factory=dict)
    unknown: str = ""
    withheld: str = ""
    closed: bool = False

    def take(self, reading: "_Reading", covered: str) -> str:
        """Add what a part asks for; returns what covers the next part of the sentence too, such as a "not"."""
        cover = _Cover(covered, 0, lasts=True) if covered else reading.cover()
        named, closes = reading.named(cover.start)
        if named and reading.asks(cover.start):
            self._grant(named, reading.deed(cover.start))
            self.closed = closes
        elif not self.unknown and not named:
            self.unknown = reading.unserved(cover.start)
        denied = reading.named(len(reading.part.tokens))[0] if cover.words and not named else {}
        if denied and not self.withheld:
            self.withheld = f'"{cover.words}" with {"; ".join(_evidence(denied))}'
        return cover.words if cover.lasts else ""

    def _grant(self, named: Words, deed: Hit | None) -> None:
        for family, words in named.items():
            supporting = (deed.words,) if deed else ()
            self.families.setdefault(family, {}).update(dict.fromkeys((*words, *supporting)))

    def classification(self) -> Classification:
        """The whole as a value."""
        if self.families:
            named = {family: tuple(words) for family, words in self.families.items()}
            return Classification("families", tuple(named), _evidence(named))
        if self.unknown:
            return Classification("unknown", (), (f"unknown: {self.unknown}",))
        return Classification("none", (), (self.withheld,) if self.withheld else ())


def _evidence(named: Words) -> tuple[str, ...]:
    return tuple(f"{family}: {', '.join(words)}" for family, words in named.items())


@frozen
class _Cover:
    """Words that deny, ask about a feature or thank: nothing from the token `start` on is granted."""

    words: str
    start: int
    lasts: bool


class _Named:
    """The families named so far in a part: by nouns and phrases, and apart from them by verbs."""

    def __init__(self) -> None:
        self.strong: dict[str, dict[str, None]] = {}
        self.weak: dict[str, dict[str, None]] = {}
        self._pairs: dict[tuple[str, int], dict[str, str]] = {}

    def add(self, hit: Hit) -> None:
        """Take an entry in; half a pair waits for its other half."""
        for role in hit.roles:
            if role.kind in ("noun", "phrase"):
                self.strong.setdefault(role.family, {})[hit.words] = None
            elif role.kind == "verb":
                self.weak.setdefault(role.family, {})[hit.words] = None
            elif role.kind in ("pair_noun", "pair_verb"):
                pair = self._pairs.setdefault((role.family, role.pair), {})
                pair.setdefault(role.kind, hit.words)
                if "pair_noun" in pair and "pair_verb" in pair:
                    self.strong.setdefault(role.family, {})[pair["pair_noun"]] = None

    def words(self) -> Words:
        """Nouns beat verbs (CON-04)."""
        return {family: tuple(words) for family, words in (self.strong or self.weak).items()}


class _Reading:
    """Questions about one part; `end` is always the token where it stops counting."""

    def __init__(self, part: Part, vocabulary: Vocabulary) -> None:
        self.part = part
        self._vocabulary = vocabulary
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

    def cover(self) -> _Cover:
        """What the part says to take back: a negation, a question about a feature, thanks."""
        for hit in self.part.hits:
            if hit.has("thanks"):
                return _Cover(hit.words, hit.start, lasts=False)
            if hit.has("negations") and not self._only_answers(hit):
                return _Cover(hit.words, hit.start, lasts=True)
            if hit.has("about") or (hit.has("defines") and not self._is_specific(hit)):
                return _Cover(hit.words, hit.start, lasts=True)
        return _Cover("", len(self.part.tokens), lasts=False)

    def _only_answers(self, hit: Hit) -> bool:
        """Whether this "no" answers something: "no, put it into my calendar"."""
        return hit.words == "no" and hit.start == 0 and self.part.tokens[1:2] in ((), (",",))

    def _is_specific(self, hit: Hit) -> bool:
        following = "".join(self.part.tokens[hit.end : hit.end + 1])
        return following in self._vocabulary.words["specific"] or following.endswith("'s")

    def named(self, end: int) -> tuple[Words, bool]:
        """The families named before `end` or their content, and whether that content is all the rest."""
        named = _Named()
        hits = {hit.start: hit for hit in self.part.hits}
        place = 0
        while place < end:
            if self._begins_content(named, place):
                return named.words(), self.part.tokens[place] == ":"
            hit = hits.get(place)
            if hit is not None:
                named.add(hit)
            place = hit.end if hit is not None else place + 1
        return named.words(), False

    def _begins_content(self, named: _Named, place: int) -> bool:
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
        begins = first is not None and first.has("noun", "determiners")
        return begins and not states and self.part.words <= SHORT

    def deed(self, end: int) -> Hit | None:
        """The verb that the part asks for, where it begins with one."""
        return next((hit for hit in self._opening if hit.start < end and hit.has("actions", "looking", "verb")), None)

    def unserved(self, end: int) -> str:
        """The action that is asked for although no family is named, or a reference to an earlier one."""
        hits = [hit for hit in self.part.hits if hit.start < end]
        reference = next((hit for hit in hits if hit.has("references")), None)
        if reference is not None and self.part.words <= SHORT:
            return reference.words
        deed = self.deed(end)
        wished = any(hit.has("wishes") for hit in self._opening)
        if deed is None or wished or not deed.has("actions") or any(hit.has("products") for hit in hits):
            return ""
        return deed.words


_ASKING = ("actions", "looking", "verb", "phrase", "pair_verb", "requests", "wishes", "questions")
"""Entries that make what they begin a request."""
