"""Makes text from outside storable (LOG-05); knows nothing of where it came from or goes to."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` with every NUL and lone surrogate replaced by U+FFFD; applying it twice changes nothing."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def clipped(text: str, limit: int) -> str:
    """`text` cut to `limit` characters, the cut marked by an ellipsis that counts."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"
