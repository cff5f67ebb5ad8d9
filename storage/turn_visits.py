"""The visits of one turn, put together from the entries and exits that stand in the log.

Owns the pairing of rows and the times between them. Knows no other table. Invariant: what is missing in the log
stays visible: an exit without its entry, and an entry without its exit, are visits of their own.
"""

import json
import sqlite3
from typing import NamedTuple


class Guard(NamedTuple):
    """A guard that was asked, and what it compared."""

    transition: str
    name: str
    held: bool
    values: dict[str, object]


class Visit(NamedTuple):
    """One stay in a phase. `event` None: it has not ended. `gap_ms` is the time since the visit before ended."""

    phase: str
    visit: int
    entered_us: int | None
    offset_ms: float
    gap_ms: float
    budget_ms: int | None
    event: str | None
    transition: str | None
    to_phase: str | None
    reason: str | None
    took_ms: float | None
    guards: tuple[Guard, ...]
    entry: dict[str, object]
    exit: dict[str, object]


class _Event(NamedTuple):
    """A row of `phase_event`."""

    phase: str
    visit: int
    kind: str
    at_us: int
    mono_ns: int
    budget_ms: int | None
    event: str | None
    transition: str | None
    to_phase: str | None
    guards: str | None
    reason: str | None
    detail: str | None

    def since(self, before: "_Event") -> float:
        """Milliseconds since an earlier row; by the wall clock where the monotonic one was started anew."""
        if self.mono_ns >= before.mono_ns:
            return round((self.mono_ns - before.mono_ns) / 1e6, 3)
        return max(self.at_us - before.at_us, 0) / 1e3


_Pair = tuple[_Event | None, _Event | None]


def visits(log: sqlite3.Connection, turn_id: str) -> list[Visit]:
    """The visits of a turn in order, without its arrival in `done`."""
    found = log.execute(
        "SELECT phase, visit, kind, at_us, mono_ns, budget_ms, event, transition, to_phase, guards, reason, detail"
        " FROM phase_event WHERE turn_id = ? AND phase <> 'done' ORDER BY seq",
        (turn_id,),
    )
    events = [_Event(*row) for row in found]
    result: list[Visit] = []
    before = None
    for entry, end in _paired(events):
        result.append(_visit(events[0], before, entry, end))
        before = end or entry
    return result


def _paired(events: list[_Event]) -> list[_Pair]:
    """Each entry with the exit that belongs to it."""
    pairs: list[_Pair] = []
    for event in events:
        entry, end = pairs[-1] if pairs else (None, None)
        if event.kind == "enter":
            pairs.append((event, None))
        elif entry is not None and end is None and (entry.phase, entry.visit) == (event.phase, event.visit):
            pairs[-1] = (entry, event)
        else:
            pairs.append((None, event))
    return pairs


def _visit(first: _Event, before: _Event | None, entry: _Event | None, end: _Event | None) -> Visit:
    start = entry or end or first
    return Visit(
        phase=start.phase,
        visit=start.visit,
        entered_us=entry.at_us if entry else None,
        offset_ms=start.since(first),
        gap_ms=start.since(before) if before else 0.0,
        budget_ms=entry.budget_ms if entry else None,
        event=end.event if end else None,
        transition=end.transition if end else None,
        to_phase=end.to_phase if end else None,
        reason=end.reason if end else None,
        took_ms=end.since(entry) if end and entry else None,
        guards=_guards(end.guards) if end and end.guards else (),
        entry=json.loads(entry.detail) if entry and entry.detail else {},
        exit=json.loads(end.detail) if end and end.detail else {},
    )


def _guards(text: str) -> tuple[Guard, ...]:
    return tuple(Guard(g["transition"], g["name"], bool(g["held"]), g["values"]) for g in json.loads(text))
