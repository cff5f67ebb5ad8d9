"""The words by which an answer claims that something was done (CON-25).

Owns the search in the answer. Does not know what was done. Invariant: what is asked, offered, denied or quoted is no
claim.
"""

from collections.abc import Sequence

from phasewalk.phases.vocabulary import Vocabulary
from phasewalk.phases.wording import sentences

BEFORE = 5
"""So many words before the deed are looked at for who did it, and for what denies it."""


def claimed(text: str, vocabulary: Vocabulary) -> str | None:
    """The words that claim an action, or None."""
    for sentence in sentences(text, vocabulary):
        if any(part.question for part in sentence):
            continue
        found = _claim([token for part in sentence for token in part.tokens], vocabulary)
        if found is not None:
            return found
    return None


def _claim(tokens: Sequence[str], vocabulary: Vocabulary) -> str | None:
    other = vocabulary.other
    for place, token in enumerate(tokens):
        if token not in other["claimed"]:
            continue
        before = tokens[max(place - BEFORE, 0) : place]
        if not other["unclaimed"].isdisjoint(before):
            continue
        if not before:
            return token  # "Added milk to your notes."
        said = _by_whom(before, vocabulary)
        if said is not None:
            return f"{said} {token}"
    return None


def _by_whom(before: Sequence[str], vocabulary: Vocabulary) -> str | None:
    """The claimant that stands before the deed, adverbs of it between them."""
    left = list(before)
    while left and (left[-1] in vocabulary.words["fillers"] or left[-1] == "," or left[-1].endswith("ly")):
        left.pop()
    endings = (" ".join(left[start:]) for start in range(len(left)))
    return next((ending for ending in endings if ending in vocabulary.other["claimants"]), None)
