"""The events of all turns in the order in which they were committed, from any one of them on.

Owns the query and where the newest events begin. Knows no way of printing. Invariant: who goes on after the last id
that was told misses nothing, since ids are given inside the transaction that commits them, one writer at a time.
"""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from phasewalk.storage.queries import Row

_CHANNEL = "(:channel IS NULL OR t.channel_name = :channel OR t.channel_id = :channel)"
EVENTS = (
    "SELECT e.event_id, e.at, e.at_us, e.turn_id, e.seq, e.phase, e.visit, e.kind, e.event, e.transition, e.to_phase,"  # noqa: S608 - pieces of this file
    " e.reason, round((e.mono_ns - entry.mono_ns) / 1e6, 3) AS took_ms,"
    " CASE WHEN e.phase = 'done' THEN t.outcome END AS outcome,"
    " CASE WHEN e.phase = 'done' THEN t.reason END AS ended_by,"
    " t.machine, t.kind AS turn_kind, t.channel_id, t.channel_name, t.user_id, t.user_name"
    " FROM phase_event AS e JOIN turn AS t ON t.turn_id = e.turn_id"
    " LEFT JOIN phase_event AS entry ON e.kind = 'exit' AND entry.turn_id = e.turn_id AND entry.seq = e.seq - 1"
    "  AND entry.kind = 'enter'"
    f" WHERE e.event_id > :since AND {_CHANNEL} ORDER BY e.event_id"
)
_NEWEST = (
    "SELECT e.event_id FROM phase_event AS e JOIN turn AS t ON t.turn_id = e.turn_id"  # noqa: S608 - as above
    f" WHERE {_CHANNEL} ORDER BY e.event_id DESC LIMIT 1 OFFSET :count"
)


def events_since(log: sqlite3.Connection, event_id: int, channel: str | None = None) -> Iterator[Row]:
    """Each event after this one, as it comes; `channel` is a name or an id."""
    cursor = log.execute(EVENTS, {"since": event_id, "channel": channel})
    names = [column[0] for column in cursor.description]
    for row in cursor:
        event = dict(zip(names, row, strict=True))
        yield {**event, "event_id": str(event["event_id"])}


def before_newest(log: sqlite3.Connection, count: int, channel: str | None = None) -> int:
    """The id after which the newest `count` events stand; 0 when there are no more than these."""
    row = log.execute(_NEWEST, {"count": count, "channel": channel}).fetchone()
    return 0 if row is None else int(row[0])


class Newest(NamedTuple):
    """The event that was committed last; zeros for a log without any."""

    event_id: int
    at_us: int


def oldest(log: sqlite3.Connection) -> int:
    """The id of the first event that is there; 0 for a log without any."""
    return int(log.execute("SELECT min(event_id) FROM phase_event").fetchone()[0] or 0)


def newest(log: sqlite3.Connection) -> Newest:
    """The last event."""
    row = log.execute("SELECT event_id, at_us FROM phase_event ORDER BY event_id DESC LIMIT 1").fetchone()
    return Newest(*row) if row is not None else Newest(0, 0)


def newest_until(log: sqlite3.Connection, at_us: int) -> int:
    """The id of the last event of this time or before; 0 when there is none."""
    sql = "SELECT event_id FROM phase_event WHERE at_us <= ? ORDER BY event_id DESC LIMIT 1"
    row = log.execute(sql, (at_us,)).fetchone()
    return 0 if row is None else int(row[0])
