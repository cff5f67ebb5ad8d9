"""What a transition table is, and what it must satisfy before anything may walk it.

Owns `Row` and `Table`. Knows no phase, no guard function and no runner: guards are names here.
Invariant: a `Table` that exists is sound (see `Table.check`), so whoever walks it need not look again.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cached_property

from attrs import field, frozen

from phasewalk.machine.errors import TableError
from phasewalk.machine.words import DONE, RECEIVED, RECORD, Cause

INTERRUPTIONS = ("deadline_passed", "cancelled", "crashed", "interrupted")
"""Events that come from outside a phase; the first two never reach a shielded one."""


def _names(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@frozen
class Row:
    """One transition: in one of `sources`, on one of `events`, if all `guards` hold, go to `target`.

    `cause` is what the visit that the row opens is told about why it happens.
    """

    id: str
    sources: tuple[str, ...] = field(converter=_names)
    events: tuple[str, ...] = field(converter=_names)
    guards: tuple[str, ...] = field(converter=_names)
    target: str
    cause: Cause | None = None


@frozen(slots=False)
class Table:
    """The rows of one machine, in the order in which they are tried."""

    name: str
    phases: tuple[str, ...]
    rows: tuple[Row, ...]
    initial: str = RECEIVED
    final: str = DONE
    shielded: tuple[str, ...] = (RECORD,)

    def __attrs_post_init__(self) -> None:
        self.check()

    @cached_property
    def by_phase_and_event(self) -> Mapping[tuple[str, str], tuple[Row, ...]]:
        """The rows to try for a (phase, event), top to bottom."""
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            for source in row.sources:
                for event in row.events:
                    found.setdefault((source, event), []).append(row)
        return {pair: tuple(rows) for pair, rows in found.items()}

    @cached_property
    def by_id(self) -> Mapping[str, Row]:
        """Each row under its stable id."""
        return {row.id: row for row in self.rows}

    @cached_property
    def events(self) -> tuple[str, ...]:
        """Every event of the table, in order of first appearance."""
        return tuple(dict.fromkeys(event for row in self.rows for event in row.events))

    def events_of(self, phase: str) -> frozenset[str]:
        """The events that have a row in this phase."""
        return frozenset(event for source, event in self.by_phase_and_event if source == phase)

    def as_document(self) -> dict[str, object]:
        """The table as plain JSON data, for the log and for drawing old turns on their own machine."""
        return {
            "name": self.name,
            "phases": list(self.phases),
            "initial": self.initial,
            "final": self.final,
            "shielded": list(self.shielded),
            "rows": [
                {
                    "id": row.id,
                    "from": list(row.sources),
                    "event": list(row.events),
                    "guards": list(row.guards),
                    "to": row.target,
                    "cause": None if row.cause is None else str(row.cause),
                }
                for row in self.rows
            ],
        }

    @cached_property
    def digest(self) -> str:
        """A digest of the whole table; equal digests mean equal machines."""
        text = json.dumps(self.as_document(), sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def check(self) -> None:
        """Raise `TableError` unless the table is sound.

        Sound means: ids are unique; every phase is known, reachable, and can reach the end; the final phase
        has no rows; every phase that is not shielded has rows for `deadline_passed` and `cancelled`, all have
        rows for `crashed` and `interrupted`; the rows of one (phase, event) end with an unguarded one, and
        only the last is unguarded.
        """
        self._check_names()
        self._check_paths()
        self._check_interruptions()
        self._check_guards()

    def _check_names(self) -> None:
        ids = [row.id for row in self.rows]
        twice = sorted({i for i in ids if ids.count(i) > 1})
        if twice:
            raise TableError(f"table {self.name!r}: row ids used twice: {', '.join(twice)}")
        known = {*self.phases, self.final}
        for row in self.rows:
            strange = sorted({*row.sources, row.target} - known)
            if strange:
                raise TableError(f"table {self.name!r}, row {row.id}: unknown phases {', '.join(strange)}")
            if self.final in row.sources:
                raise TableError(f"table {self.name!r}, row {row.id}: {self.final!r} is final and has no rows")

    def _check_paths(self) -> None:
        onward: dict[str, set[str]] = {phase: set() for phase in (*self.phases, self.final)}
        for row in self.rows:
            for source in row.sources:
                onward[source].add(row.target)
        lost = set(self.phases) - _reach(self.initial, onward)
        if lost:
            raise TableError(f"table {self.name!r}: never reached: {', '.join(sorted(lost))}")
        backward: dict[str, set[str]] = {phase: set() for phase in onward}
        for source, targets in onward.items():
            for target in targets:
                backward[target].add(source)
        endless = set(self.phases) - _reach(self.final, backward)
        if endless:
            raise TableError(f"table {self.name!r}: cannot reach {self.final!r}: {', '.join(sorted(endless))}")

    def _check_interruptions(self) -> None:
        for phase in self.phases:
            needed = {"crashed", "interrupted"}
            if phase not in self.shielded:
                needed |= {"deadline_passed", "cancelled"}
            missing = needed - self.events_of(phase)
            if missing:
                raise TableError(f"table {self.name!r}: {phase!r} has no row for {', '.join(sorted(missing))}")

    def _check_guards(self) -> None:
        for (phase, event), rows in self.by_phase_and_event.items():
            if rows[-1].guards:
                raise TableError(f"table {self.name!r}: the last row of ({phase}, {event}), {rows[-1].id}, is guarded")
            dead = [row.id for row in rows[:-1] if not row.guards]
            if dead:
                raise TableError(f"table {self.name!r}: rows after {dead[0]} of ({phase}, {event}) are never tried")


def _reach(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for step in edges[waiting.pop()] - seen:
            seen.add(step)
            waiting.append(step)
    return seen
