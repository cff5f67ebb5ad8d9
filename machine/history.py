"""Which entries leave the working window of history (ENV-07, ENV-11); pure.

Knows no store: who keeps entries asks here what must go. Invariant: a tool call and its result, which share a
`unit`, go together.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Protocol


class Entry(Protocol):
    """What trimming needs to know of an entry."""

    @property
    def entry_id(self) -> int:
        """Its number."""

    @property
    def channel_id(self) -> str:
        """Where it was said."""

    @property
    def unit(self) -> str:
        """What it must not be parted from; empty when it stands alone."""


def overflow(entries: Sequence[Entry], limit: int, per_channel: int) -> list[int]:
    """The ids of the entries to drop so that at most `limit` stay; `entries` oldest first.

    The oldest entry of a channel with more than `per_channel` entries goes first, and only when there is none,
    the oldest of all; with an entry goes everything of its unit.
    """
    kept: dict[int, Entry] = {entry.entry_id: entry for entry in entries}
    counts = Counter(entry.channel_id for entry in entries)
    units: dict[Hashable, list[Entry]] = {}
    for entry in entries:
        units.setdefault(_unit_of(entry), []).append(entry)
    dropped: list[int] = []
    while len(kept) > max(limit, 0):
        crowded = (entry for entry in kept.values() if counts[entry.channel_id] > per_channel)
        victim = next(crowded, None) or next(iter(kept.values()))
        for entry in units[_unit_of(victim)]:
            del kept[entry.entry_id]
            counts[entry.channel_id] -= 1
            dropped.append(entry.entry_id)
    return dropped


def _unit_of(entry: Entry) -> Hashable:
    return (entry.channel_id, entry.unit) if entry.unit else entry.entry_id
