"""Decides which families of tools a message asks for, by words alone (CON-01 to CON-08).

Owns the decision. Does not know which tools exist or what is permitted. Invariant: the same text, vocabulary and
earlier turns give the same classification, and what is forbidden, quoted or asked about as a feature selects nothing.
"""

from collections.abc import Sequence

from attrs import define, evolve, field

from phasewalk.machine.contract import Classification
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Earlier, Ports
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import CLASSIFY
from phasewalk.phases.follow_ups import LOOKED_BACK, NOTHING, Thread, follows, thread_of
from phasewalk.phases.reading import NO_COVER, SHORT, Cover, Reading, Reference, Words
from phasewalk.phases.typos import corrected
from phasewalk.phases.vocabulary import Hit, Vocabulary
from phasewalk.phases.vocabulary_file import shipped
from phasewalk.phases.wording import sentences, with_tokens


async def classify(turn: Turn, ports: Ports) -> Report:
    """Report what the trigger's text asks for; the words that decided are its evidence."""
    chosen, trigger = ports.settings.vocabulary, turn.trigger
    if trigger.families is not None:
        selection = "families" if trigger.families else "none"
        return Report("classified", {"classification": Classification(selection, trigger.families, FROZEN)})
    vocabulary = chosen if isinstance(chosen, Vocabulary) else shipped()
    found = _read(without_name(trigger.text, ports.settings.bot_name), vocabulary)
    thread = NOTHING
    if found.looks_back and trigger.user_id:
        earlier = await ports.memory.earlier(trigger.user_id, trigger.channel_id, LOOKED_BACK)
        thread = thread_of(earlier, vocabulary)
    return Report("classified", {"classification": found.classification(thread)})


FROZEN = ("decided when the job was made",)
"""The evidence for families that a trigger brings along (TURN-17)."""

PHASE = Phase(CLASSIFY, classify, frozenset({"classified"}), frozenset({"classification"}))


def without_name(text: str, bot_name: str) -> str:
    """`text` without the bot's name at its beginning: "helper, show my notes" asks the same as "show my notes"."""
    addressed = text.lstrip(" @")
    if not bot_name or not addressed.casefold().startswith(bot_name.casefold()):
        return text
    rest = addressed[len(bot_name) :]
    return rest.lstrip(" ,:;") if rest[:1] in (" ", ",", ":", ";") else text


def classify_text(text: str, vocabulary: Vocabulary, earlier: Sequence[Earlier] = ()) -> Classification:
    """What `text` asks for after these earlier turns of the same person in the same channel, the oldest first.

    Pure; well under a millisecond for a message of ordinary length.
    """
    return _read(text, vocabulary).classification(thread_of(earlier, vocabulary))


def _read(text: str, vocabulary: Vocabulary) -> "_Found":
    found = _Found(vocabulary)
    parts = 0
    for sentence in sentences(text, vocabulary):
        covered = NO_COVER
        for part in sentence:
            parts += 1
            if any(hit.has("no_tools") for hit in part.hits):
                return _Found(vocabulary, withheld="no tools")
            reading = Reading(part, vocabulary)
            covered = found.take(reading, covered if covered.over(part) and not part.reset else NO_COVER)
            if found.closed:
                return found
            found.exactly = reading if parts == 1 else None
    if not found.families and not found.withheld:
        found.may_follow = not found.for_words and (found.asked or follows(text, vocabulary, SHORT))
    return found


@define
class _Found:
    """What has been found so far; `closed` when the rest of the message is content.

    `for_words` says that it asks for something made of words; `may_follow` that, without families, it may be about what
    the conversation is about; `exactly` is the message where it has only one part.
    """

    vocabulary: Vocabulary
    families: dict[str, dict[str, None]] = field(factory=dict)
    references: list[Reference] = field(factory=list)
    unknown: str = ""
    withheld: str = ""
    asked: bool = False
    for_words: bool = False
    may_follow: bool = False
    closed: bool = False
    exactly: Reading | None = None

    @property
    def looks_back(self) -> bool:
        """Whether earlier turns make a difference."""
        return bool(self.references) or (self.may_follow and not self.unknown)

    def take(self, reading: Reading, covered: Cover) -> Cover:
        """Add what a part asks for; returns what may cover the next part of the sentence too, such as a "not"."""
        cover = reading.cover() if covered is NO_COVER or reading.begins_anew else evolve(covered, start=0)
        reading, read_as = self._without_typos(reading, cover.start)
        named = reading.named(cover.start)
        if named.words and reading.asks(cover.start):
            self._grant(named.words, reading.deed(cover.start), read_as)
            self.closed = named.closes
        elif not named.words:
            self._take_unnamed(reading, cover.start)
        denied = reading.named(len(reading.part.tokens)).words if cover.words and not named.words else {}
        if cover.words and not self.withheld:
            families = f" with {'; '.join(_evidence(denied))}" if denied else ""
            self.withheld = f'"{cover.words}"{families}'
        return cover

    def _without_typos(self, reading: Reading, end: int) -> tuple[Reading, str]:
        """The part with its typos corrected, where it then asks for a family and did not before (CON-05)."""
        part, named = reading.part, reading.named(end)
        if named.strong and reading.asks(end):
            return reading, ""
        tokens, read_as = corrected(part.tokens[:end], reading.opening_word, self.vocabulary)
        if not read_as:
            return reading, ""
        better = Reading(with_tokens(part, [*tokens, *part.tokens[end:]], self.vocabulary), self.vocabulary)
        now = better.named(end)
        gained = now.strong or (bool(now.words) and not named.words)
        return (better, read_as) if gained and better.asks(end) else (reading, "")

    def _take_unnamed(self, reading: Reading, end: int) -> None:
        reference = reading.reference(end)
        if reference is not None:
            self.references.append(reference)
        elif not self.unknown:
            self.unknown = reading.unserved(end)
        self.asked = self.asked or reading.asks(end)
        self.for_words = self.for_words or reading.wants_words(end)

    def _grant(self, named: Words, deed: Hit | None, read_as: str) -> None:
        for family, words in named.items():
            supporting = (*((deed.words,) if deed else ()), *((read_as,) if read_as else ()))
            self.families.setdefault(family, {}).update(dict.fromkeys((*words, *supporting)))

    def classification(self, thread: Thread) -> Classification:
        """The whole as a value, where the conversation was about this."""
        named = {family: tuple(words) for family, words in self.families.items()}
        unknown = self.unknown
        for reference in self.references:
            if thread.families:
                named |= {f: (f'"{reference.words}" of an earlier turn',) for f in thread.families if f not in named}
            elif reference.acts and not (reference.repeats and thread.words):
                unknown = unknown or reference.words
        if named:
            referred = bool(self.references) and bool(thread.families)
            return Classification("families", tuple(named), _evidence(named), tools=self._tools(), referred=referred)
        if unknown:
            return Classification("unknown", (), (f"unknown: {unknown}",))
        warm = thread.warm if self.may_follow else ()
        return Classification("none", (), (self.withheld,) if self.withheld else (), warm=warm)

    def _tools(self) -> tuple[str, ...]:
        """The tool to which a question for one's account is narrowed (CON-06)."""
        if self.exactly is None or len(self.families) != 1 or self.references:
            return ()
        (family,) = self.families
        tool = self.vocabulary.accounts.get(family, "")
        return (tool,) if tool and self.exactly.is_exactly(family) else ()


def _evidence(named: Words) -> tuple[str, ...]:
    return tuple(f"{family}: {', '.join(words)}" for family, words in named.items())
