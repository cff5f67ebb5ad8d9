"""Makes text from outside storable (LOG-05); knows nothing of where it came from or goes to."""

import re
from collections.abc import Sequence

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` with every NUL and lone surrogate replaced by U+FFFD; applying it twice changes nothing."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


ERROR_CHARS = 200
"""So much of an error's text is kept and shown."""


def told(text: str) -> str:
    """An error's text as it is kept: storable, no longer than `ERROR_CHARS`, and cut between words.

    Half a word may be half a secret, which nobody recognises later.
    """
    text = storable(text)
    if len(text) <= ERROR_CHARS:
        return text
    whole = _LAST_WORD.sub("", text[: ERROR_CHARS - 1])
    return f"{whole}…"


_LAST_WORD = re.compile(r"\S*\Z")
NAME_CHARS = 40
"""A longer name is not shown in a message at all."""


def named(name: str) -> str:
    """A name from outside for a message: in quotes, or only its length, but never a piece of it."""
    return repr(name) if len(name) <= NAME_CHARS else f"one of {len(name)} characters"


def first_place(text: str, words: Sequence[str]) -> tuple[int, int]:
    """Where the first of casefolded `words` begins and ends in `text`, whose folding may be longer (ß becomes ss).

    The beginning where none stands there.
    """
    folded = text.casefold()
    found = min(((folded.find(word), len(word)) for word in words if word in folded), default=(0, 0))
    if len(folded) == len(text):
        return found[0], found[0] + found[1]
    origins = [index for index, character in enumerate(text) for _ in character.casefold()]
    origins.append(len(text))
    last = found[0] + max(found[1] - 1, 0)
    return origins[found[0]], min(origins[min(last, len(origins) - 1)] + 1, len(text))


def clipped(text: str, limit: int) -> str:
    """`text` cut to `limit` characters, the cut marked by an ellipsis that counts."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"
