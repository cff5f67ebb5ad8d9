"""Makes text from outside storable (LOG-05); knows nothing of where it came from or goes to."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` with every NUL and lone surrogate replaced by U+FFFD; applying it twice changes nothing."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


ERROR_CHARS = 200
"""So much of an error's text is kept and shown."""


def told(text: str) -> str:
    """An error's text as it is kept: storable, and no longer than `ERROR_CHARS`."""
    return clipped(storable(text), ERROR_CHARS)


def clipped(text: str, limit: int) -> str:
    """`text` cut to `limit` characters, the cut marked by an ellipsis that counts."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"
