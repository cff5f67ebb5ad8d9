"""The conversation as kept in the table `message`: the working window that prompts are made of.

Owns reading and trimming of the window. The rows themselves stay for search and audit (ENV-36).
"""

import json
import sqlite3
from collections.abc import Sequence

from phasewalk.machine.exchange import HistoryEntry, ToolCall
from phasewalk.machine.history import overflow
from phasewalk.machine.ports import Earlier
from phasewalk.machine.records import HistoryTrimmed

COLUMNS = "SELECT entry_id, role, text, author, author_id, unit, channel_id, call, state FROM message"
_WINDOW = COLUMNS + " WHERE trimmed_us IS NULL ORDER BY entry_id"
_UNSUMMED = COLUMNS + (
    " WHERE channel_id = ?1 AND trimmed_us IS NOT NULL AND (state IS NULL OR state = 'sent')"
    " AND entry_id >= (SELECT first_entry_id FROM summary_queue WHERE channel_id = ?1) ORDER BY entry_id LIMIT ?2"
)
_QUEUE = (
    "INSERT INTO summary_queue (channel_id, entries, first_entry_id) VALUES (?, ?, ?) ON CONFLICT (channel_id)"
    " DO UPDATE SET entries = entries + excluded.entries, first_entry_id = min(first_entry_id, excluded.first_entry_id)"
)
_SUMMARY = "SELECT text FROM summary WHERE channel_id = ? ORDER BY upto_entry_id DESC LIMIT 1"
_DUE = "SELECT first_entry_id, entries FROM summary_queue WHERE channel_id = ? AND entries >= ?"
SUMMED_AT_ONCE = 200
"""So many entries at most are summed up by one call; the rest waits for the next one."""


EARLIER = (
    "SELECT m.text, coalesce(("
    "  SELECT json_group_array(DISTINCT json_extract(s.value, '$.family')) FROM contract AS c,"
    "   json_each(c.body, '$.schemas') AS s WHERE c.hash = t.contract_hash AND json_extract(s.value, '$.name') IN ("
    "    SELECT name FROM tool_call WHERE turn_id = t.turn_id AND status = 'ok')), '[]')"
    " FROM (SELECT * FROM turn WHERE turn_id < :before ORDER BY turn_id DESC LIMIT 500) AS t"
    " JOIN message AS m ON m.turn_id = t.turn_id AND m.role = 'user'"
    " WHERE t.user_id = :user AND t.channel_id = :channel AND t.ended_us <= :at ORDER BY t.turn_id DESC LIMIT :limit"
)
"""What turns were about that had ended by `at`; only among the last 500 before the turn `before`, which bounds the
work without an index."""

_ALL = {"before": "~", "at": (1 << 63) - 1}
"""Values of `EARLIER` that leave out nothing: `~` sorts behind every id."""


def window(connection: sqlite3.Connection) -> list[HistoryEntry]:
    """The working window over all channels, oldest first."""
    return [entry(row) for row in connection.execute(_WINDOW)]


def trim_window(connection: sqlite3.Connection, trim: HistoryTrimmed) -> None:
    """Take out of the window what is over the limits, and queue it for a summary (ENV-31).

    Part of the transaction that added to the window.
    """
    entries = window(connection)
    gone = set(overflow(entries, trim.limit, trim.per_channel))
    if not gone:
        return
    connection.executemany("UPDATE message SET trimmed_us = ? WHERE entry_id = ?", [(trim.at_us, e) for e in gone])
    left: dict[str, list[int]] = {}
    for entry in entries:
        if entry.entry_id in gone:
            left.setdefault(entry.channel_id, []).append(entry.entry_id)
    connection.executemany(_QUEUE, [(channel, len(ids), ids[0]) for channel, ids in left.items()])


def entry(row: tuple[int, str, str, str, str, str, str, str | None, str | None]) -> HistoryEntry:
    """An entry from a row of `COLUMNS`."""
    entry_id, role, text, author, author_id, unit, channel_id, call, state = row
    return HistoryEntry(
        role=role,
        text=text,
        author=author,
        author_id=author_id,
        entry_id=entry_id,
        unit=unit,
        channel_id=channel_id,
        call=None if call is None else ToolCall(**json.loads(call)),
        seen=state in (None, "sent"),
    )


class SqliteMemory:
    """What phases read of earlier turns, from a reading connection."""

    def __init__(self, reader: sqlite3.Connection) -> None:
        self._reader = reader

    async def window(self) -> Sequence[HistoryEntry]:
        """See `Memory.window`."""
        return window(self._reader)

    async def earlier(self, user_id: str, channel_id: str, limit: int) -> Sequence[Earlier]:
        """See `Memory.earlier`."""
        values = {**_ALL, "user": user_id, "channel": channel_id, "limit": limit}
        found = self._reader.execute(EARLIER, values).fetchall()
        return [Earlier(said, tuple(json.loads(families))) for said, families in reversed(found)]

    async def summary(self, channel_id: str) -> str | None:
        """See `Memory.summary`."""
        row = self._reader.execute(_SUMMARY, (channel_id,)).fetchone()
        return None if row is None else str(row[0])

    async def unsummed(self, channel_id: str) -> Sequence[HistoryEntry]:
        """See `Memory.unsummed`."""
        return [entry(row) for row in self._reader.execute(_UNSUMMED, (channel_id, SUMMED_AT_ONCE))]

    def summary_due(self, channel_id: str, after: int) -> tuple[int, int] | None:
        """The first entry that no summary holds and how many wait, where at least `after` do; else None."""
        row = self._reader.execute(_DUE, (channel_id, after)).fetchone()
        return None if row is None else (int(row[0]), int(row[1]))

    async def remembered(self, user_id: str) -> Sequence[str]:
        """See `Memory.remembered`."""
        rows = self._reader.execute("SELECT text FROM fact WHERE user_id = ? ORDER BY number", (user_id,))
        return [str(text) for (text,) in rows]
