"""What was different from one start of a process to the next: version and configuration (OPS-11).

Owns the comparison of two starts. Knows no way of printing. Invariant: what an older version did not write down is
never called a change.
"""

import json
import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from phasewalk.storage.health import Process, process_at


class Change(NamedTuple):
    """One value that is not what it was; None stands for what is not there."""

    what: str
    before: object
    after: object


class Start(NamedTuple):
    """The start of a process, and what was different from the one before; None where that is not known."""

    process: Process
    changes: tuple[Change, ...] | None


def start_before(log: sqlite3.Connection, at_us: int) -> Start | None:
    """The last start up to a time, beside the last one before it of the same command."""
    process = process_at(log, at_us)
    if process is None:
        return None
    sql = "SELECT max(process_id) FROM process WHERE process_id < ? AND command = ?"
    (earlier,) = log.execute(sql, (process.process_id, process.command)).fetchone()
    if earlier is None:
        return Start(process, None)
    (version,) = log.execute("SELECT version FROM process WHERE process_id = ?", (earlier,)).fetchone()
    changed = [Change("version", version, process.version)] if version != process.version else []
    configured = [_configuration(log, number) for number in (earlier, process.process_id)]
    if None in configured:
        return Start(process, tuple(changed) or None)
    before, after = (dict(_leaves(document)) for document in configured)
    keys = [key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key)]
    return Start(process, (*changed, *(Change(key, before.get(key), after.get(key)) for key in keys)))


def _configuration(log: sqlite3.Connection, process_id: int) -> object:
    """The configuration by which a process ran; None where an older version did not write it down."""
    sql = (
        "SELECT c.body FROM process AS p JOIN configuration AS c ON c.hash = p.configuration_hash WHERE process_id = ?"
    )
    row = log.execute(sql, (process_id,)).fetchone()
    return None if row is None else json.loads(row[0])


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Each value by its place, as in `providers.0.model`; a list of plain values is one value."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        for index, part in enumerate(value):
            yield from _leaves(part, f"{name}.{index}")
    else:
        yield name, value
