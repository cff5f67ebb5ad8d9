"""The circuits of providers, in the file that all processes share (FB-15).

Owns counting, opening, probing and closing. Judges no failure: what counts is decided by who reports it.
Invariant: of all turns of all processes exactly one is the probe of a half-open circuit.
"""

import sqlite3

from phasewalk.machine.circuit import CircuitAnswer, CircuitEvent, CircuitState
from phasewalk.machine.records import CircuitNoted
from phasewalk.storage.writer import Writer

Statement = tuple[str, tuple[object, ...]]

APART_US = 10_000_000
"""So far apart the clocks of two processes may be; a clock that is farther behind was set back."""

_KNOWN = "INSERT OR IGNORE INTO circuit (provider) VALUES (?)"
_FAILED = "INSERT OR IGNORE INTO circuit_failure (provider, turn_id, at_us, reason) VALUES (?, ?, ?, ?)"
_OPEN = (
    "UPDATE circuit SET opened_us = ?1, open_until_us = ?1 + ?2, probe_turn_id = NULL, probe_until_us = NULL"
    " WHERE provider = ?3 AND (probe_turn_id = ?4 OR ((opened_us IS NULL OR ?1 NOT BETWEEN opened_us AND open_until_us)"
    "  AND ?5 <= (SELECT count(*) FROM circuit_failure AS f WHERE f.provider = circuit.provider"
    "   AND f.at_us > circuit.cleared_us AND f.at_us > ?1 - ?6)))"
)
_CLOSE = (
    "UPDATE circuit SET opened_us = NULL, open_until_us = NULL, probe_turn_id = NULL, probe_until_us = NULL,"
    " cleared_us = ? WHERE provider = ?"
)
_RELEASE = "UPDATE circuit SET probe_turn_id = NULL, probe_until_us = NULL WHERE provider = ? AND probe_turn_id = ?"
_PROBE = (
    "UPDATE circuit SET probe_turn_id = ?, probe_until_us = ? WHERE provider = ? AND opened_us IS NOT NULL"
    " AND ?4 NOT BETWEEN opened_us - ?5 AND open_until_us AND (probe_turn_id IS NULL OR probe_until_us <= ?4)"
)
_ROW = "SELECT opened_us, open_until_us, probe_turn_id, probe_until_us FROM circuit WHERE provider = ?"


def noted(rows: list[Statement], turn_id: str, note: CircuitNoted) -> None:
    """The statements for what a turn reports of a provider."""
    match note.event:
        case CircuitEvent.FAILED:
            rows.append((_KNOWN, (note.provider,)))
            rows.append((_FAILED, (note.provider, turn_id, note.at_us, note.reason)))
            limits = (note.failures, note.window_us)
            rows.append((_OPEN, (note.at_us, note.cooldown_us, note.provider, turn_id, *limits)))
        case CircuitEvent.SUCCEEDED:
            rows.append((_CLOSE, (note.at_us, note.provider)))
        case CircuitEvent.RELEASED:
            rows.append((_RELEASE, (note.provider, turn_id)))


def reset(connection: sqlite3.Connection, provider: str, now_us: int) -> bool:
    """Close a circuit by hand and forget what counted against its provider; False when there is none."""
    return connection.execute(_CLOSE, (now_us, provider)).rowcount == 1


class SqliteCircuits:
    """Implements `Circuits`: reads beside the writer, and claims a probe through it."""

    def __init__(self, writer: Writer, reader: sqlite3.Connection) -> None:
        self._writer = writer
        self._reader = reader

    async def admit(self, provider: str, turn_id: str, now_us: int, until_us: int) -> CircuitAnswer:
        """See `Circuits.admit`. A wall clock that was set back before the opening makes the circuit half-open."""
        row = self._reader.execute(_ROW, (provider,)).fetchone()
        if row is None or row[0] is None:
            return CircuitAnswer()
        opened_us, open_until_us, *_ = row
        if opened_us - APART_US <= now_us <= open_until_us:
            left = round((open_until_us - now_us) / 1_000_000, 1)
            return CircuitAnswer(CircuitState.OPEN, {"opened_us": opened_us, "open_for": left})
        values = (turn_id, until_us, provider, now_us, APART_US)

        def claim(connection: sqlite3.Connection) -> CircuitAnswer:
            if connection.execute(_PROBE, values).rowcount == 1:
                return CircuitAnswer(CircuitState.PROBE)
            opened, _, prober, probed_until = connection.execute(_ROW, (provider,)).fetchone()
            if opened is None:
                return CircuitAnswer()
            return CircuitAnswer(CircuitState.OPEN, {"probed_by": prober, "until_us": probed_until})

        answer = await self._writer.call(claim)
        return answer if isinstance(answer, CircuitAnswer) else CircuitAnswer()
