"""The working window of history in the simulated month, and what waits for a summary, kept as the real log keeps them.

Owns which rows of `message` leave the window when. Writes nothing.
"""

import json
from collections import defaultdict
from typing import Any

from attrs import define, field

from phasewalk.machine.history import overflow

LIMIT, PER_CHANNEL = 40, 3


class Entry:
    """An entry of the working window."""

    __slots__ = ("channel_id", "chars", "entry_id", "row", "seen", "unit")

    def __init__(self, entry_id: int, row: list[Any]) -> None:
        self.entry_id, self.row = entry_id, row
        self.channel_id, self.unit = row[1], row[8]
        self.seen, self.chars = row[9] in (None, "sent"), len(row[5])


@define
class Window:
    """The working window and what waits for a summary, kept as the real log keeps them."""

    entries: list[Entry] = field(factory=list)
    last: int = 0
    unsummed: dict[str, list[tuple[int, bool, int]]] = field(factory=lambda: defaultdict(list))
    summaries: dict[str, str] = field(factory=dict)
    rows: list[list[Any]] = field(factory=list)
    written: int = 0
    late: list[tuple[int, int]] = field(factory=list)

    def said(self, at_us: int, rows: list[list[Any]]) -> None:
        """What a turn said enters; what is over the limits leaves."""
        for row in rows:
            self.last += 1
            row.append(None)
            self.rows.append(row)
            self.entries.append(Entry(self.last, row))
        if len(self.entries) <= LIMIT:
            return
        gone = set(overflow(self.entries, LIMIT, PER_CHANNEL))
        for entry in self.entries:
            if entry.entry_id in gone:
                if entry.entry_id > self.written:
                    entry.row[11] = at_us
                else:
                    self.late.append((at_us, entry.entry_id))
                self.unsummed[entry.channel_id].append((entry.entry_id, entry.seen, entry.chars))
        self.entries = [entry for entry in self.entries if entry.entry_id not in gone]

    def shown(self, channel_id: str) -> tuple[list[int], int]:
        """The entries that a prompt of this channel shows, and their characters."""
        here = [entry for entry in self.entries if entry.channel_id == channel_id and entry.seen]
        return [entry.entry_id for entry in here], sum(entry.chars for entry in here)

    def take(self) -> tuple[list[list[Any]], list[tuple[int, int]]]:
        """The rows to write, and instants for rows that were written before."""
        rows, late = self.rows, self.late
        self.rows, self.late, self.written = [], [], self.last
        return rows, late


def runs_of(numbers: list[int]) -> str:
    """As `Prompt.document` writes history."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return json.dumps(runs, separators=(",", ":"))
