"""What a conversation is about, seen from the turns before: what "it" may mean, and what is merely warm (CON-03).

Owns how long a topic lasts. Does not know the message that is being classified. Invariants: a turn whose tools
failed is nobody's antecedent; thanks and a change of topic end what was before them.
"""

from collections.abc import Sequence

from attrs import frozen

from phasewalk.machine.ports import Earlier
from phasewalk.phases.reading import Reading
from phasewalk.phases.vocabulary import Vocabulary
from phasewalk.phases.wording import MARKS, Part, sentences

LOOKED_BACK = 6
"""So many turns back a family stays warm."""

WARM_MOST = 3
"""So many families are warm at once."""


@frozen
class Thread:
    """What is talked about: the families that a reference means, those that are warm, the latest first.

    `words` says that the last turn was for something made of words, which "another one" then means.
    """

    families: tuple[str, ...] = ()
    warm: tuple[str, ...] = ()
    words: bool = False


NOTHING = Thread()


def thread_of(earlier: Sequence[Earlier], vocabulary: Vocabulary) -> Thread:
    """The thread after these turns, the oldest first."""
    thread = NOTHING
    for turn in earlier[-LOOKED_BACK:]:
        if turn.families:
            warm = (*turn.families, *(family for family in thread.warm if family not in turn.families))
            thread = Thread(turn.families, warm[:WARM_MOST])
        elif not follows(turn.text, vocabulary):
            thread = Thread(words=_wants_words(turn.text, vocabulary))
    return thread


def follows(text: str, vocabulary: Vocabulary, short: int = 0) -> bool:
    """Whether `text` goes on with what was said before: by its beginning, a pronoun, or with next to no words.

    With `short`, anything of so many words may. Thanks end a topic, and so do words such as "by the way".
    """
    parts = [part for sentence in sentences(text, vocabulary) for part in sentence]
    hits = [hit for part in parts for hit in part.hits]
    if any(hit.has("thanks", "topics") for hit in hits):
        return False
    words = vocabulary.words
    tokens = [token for part in parts for token in part.tokens if token not in MARKS]
    leads_on = any(part.hits and part.hits[0].start == 0 and part.hits[0].has("continues") for part in parts[:1])
    points = any(hit.has("pronouns", "pointers", "references") for hit in hits)
    return leads_on or points or len(tokens) <= short or all(token in words["fillers"] for token in tokens)


def _wants_words(text: str, vocabulary: Vocabulary) -> bool:
    parts: list[Part] = [part for sentence in sentences(text, vocabulary) for part in sentence]
    return any(Reading(part, vocabulary).wants_words(len(part.tokens)) for part in parts)
