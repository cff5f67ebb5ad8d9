"""What every prompt needs, whoever it is for: what texts cost, and a smaller history (ENV-30)."""

from phasewalk.machine.exchange import HistoryEntry

CHARS_PER_TOKEN = 3
"""A cautious guess: real tokenizers make fewer tokens of most texts."""

RESERVED_TOKENS = 500
"""Kept free for the schema, the tools and the answer."""


def shrunk(history: tuple[HistoryEntry, ...]) -> tuple[HistoryEntry, ...]:
    """The younger half, never parting a tool call from its result (ENV-30)."""
    keep = history[(len(history) + 1) // 2 :]
    cut = {entry.unit for entry in history[: len(history) - len(keep)] if entry.unit}
    return tuple(entry for entry in keep if entry.unit not in cut)


def estimated_tokens(*texts: str) -> int:
    """A cautious estimate of what `texts` cost."""
    return sum(len(text) for text in texts) // CHARS_PER_TOKEN + RESERVED_TOKENS
