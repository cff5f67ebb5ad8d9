"""Turns as lines of JSON, row by row, and a log made of such lines: what one writes the other reads, without loss.

Owns the form of the lines: a head, each row as `{"table": ..., "row": {...}}`, what others refer to first, and the
number of rows. Texts stand in their row of `payload` once, as text. Knows no way of printing.
Invariant: `loaded(exported(...))` answers every question about these turns as the log does.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from phasewalk.machine.errors import UnreadableLogError
from phasewalk.storage.compression import unpacked
from phasewalk.storage.database import SCHEMA_VERSION
from phasewalk.storage.queries import Row, rows
from phasewalk.storage.references import references

FORM = 1
"""The version of the lines."""

NAME = "phasewalk export"
_NONE = "not an export; expected the output of 'phasewalk export --format jsonl'"

_BEFORE = {
    "process": "SELECT process_id AS name FROM turn WHERE turn_id = :turn",
    "machine": "SELECT machine_hash AS name FROM turn WHERE turn_id = :turn",
    "contract": "SELECT contract_hash AS name FROM turn WHERE turn_id = :turn AND contract_hash IS NOT NULL",
}
"""What a turn refers to, written once: tables, and the key that the turn names."""

_KEYS = {"process": "process_id", "machine": "hash", "contract": "hash", "configuration": "hash", "payload": "digest"}
_OF_TURN = ("turn", "phase_event", "attempt", "fallback_step", "tool_call", "effect", "message", "summary", "log_loss")
_EFFECT_EVENTS = "effect_id IN (SELECT effect_id FROM effect WHERE turn_id = :turn)"
TABLES = (*_KEYS, *_OF_TURN, "effect_event")
"""The tables of which lines may tell."""


def exported(log: sqlite3.Connection, turn_ids: Sequence[str]) -> Iterator[Row]:
    """A head, the rows of these turns in order, as they are read, and how many rows there were."""
    yield {"form": NAME, "version": FORM, "schema": SCHEMA_VERSION, "turns": len(turn_ids)}
    columns = {table: _columns(log, table) for table in TABLES}
    log.execute("CREATE TEMP TABLE told (name TEXT PRIMARY KEY) WITHOUT ROWID")  # too many for memory
    count = 0
    try:
        for turn_id in turn_ids:
            for line in _turn(log, turn_id, columns):
                count += 1
                yield line
    finally:
        log.execute("DROP TABLE told")
    yield {"rows": count}


def _turn(log: sqlite3.Connection, turn_id: str, columns: dict[str, str]) -> Iterator[Row]:
    """What a turn refers to, as far as no earlier turn did, and its rows."""
    own: Row = {"turn": turn_id}
    for table, sql in _BEFORE.items():
        for (name,) in log.execute(sql, own).fetchall():
            yield from _once(log, table, name, columns)
    for digest in sorted(references(log, [turn_id])):
        yield from _once(log, "payload", digest, columns)
    for table in _OF_TURN:
        yield from _rows(log, table, columns[table], "turn_id = :turn", own)
    yield from _rows(log, "effect_event", columns["effect_event"], _EFFECT_EVENTS, own)


def _columns(log: sqlite3.Connection, table: str) -> str:
    """The columns that hold something; those that are computed come back by themselves."""
    found = log.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))
    return ", ".join(f'"{name}"' for (name,) in found)


def _once(log: sqlite3.Connection, table: str, name: object, columns: dict[str, str]) -> Iterator[Row]:
    """A row that several turns refer to, the first time that it is due."""
    if log.execute("INSERT OR IGNORE INTO told VALUES (?)", (f"{table} {name}",)).rowcount == 0:
        return
    for line in _rows(log, table, columns[table], f"{_KEYS[table]} = :name", {"name": name}):
        row = line["row"]
        if table == "process" and isinstance(row, dict) and row.get("configuration_hash") is not None:
            yield from _once(log, "configuration", row["configuration_hash"], columns)
        yield line


def _rows(log: sqlite3.Connection, table: str, columns: str, where: str, values: Row) -> Iterator[Row]:
    order = "rowid" if table in ("phase_event", "effect_event", "message", "summary", "log_loss") else "1"
    sql = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {order}"  # noqa: S608 - names of the schema, values bound
    for row in rows(log, sql, values):
        if table == "payload":
            body = row.pop("body")
            row["text"] = unpacked(str(row["encoding"]), body) if isinstance(body, bytes) else None
        yield {"table": table, "row": row}


def texts_pruned(log: sqlite3.Connection, turn_ids: Iterable[str]) -> int:
    """How many texts of these turns are not there any more; a digest without a row was never stored."""
    names = json.dumps(sorted(references(log, turn_ids)))
    sql = "SELECT count(*) FROM payload WHERE body IS NULL AND digest IN (SELECT value FROM json_each(?))"
    return int(log.execute(sql, (names,)).fetchone()[0])


def rows_lost(log: sqlite3.Connection, turn_ids: Sequence[str]) -> int:
    """How many rows of these turns could not be written."""
    sql = "SELECT coalesce(sum(log_gap), 0) FROM turn WHERE turn_id IN (SELECT value FROM json_each(?))"
    return int(log.execute(sql, (json.dumps(list(turn_ids)),)).fetchone()[0])


def loaded(lines: Iterable[str]) -> sqlite3.Connection:
    """A log in memory that holds what the lines tell.

    Raises `UnreadableLogError` for lines that are no whole export, and for one of a newer version.
    """
    from phasewalk.storage.migrations import migrate  # noqa: PLC0415 - it costs 0.1 s, and is needed here alone

    log = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(log)
        log.execute("BEGIN")
        _load(log, lines)
        log.execute("COMMIT")
    except BaseException:
        log.close()
        raise
    return log


def _load(log: sqlite3.Connection, lines: Iterable[str]) -> None:
    known = {
        table: {str(name) for (name,) in log.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        for table in TABLES
    }
    told = None
    count = 0
    for count, line in enumerate(lines, 1):
        try:
            document = json.loads(line)
            if count == 1:
                _check_head(document)
            elif "table" in document:
                _insert(log, document["table"], document["row"], known)
            else:
                told = int(document["rows"])
        except (ValueError, KeyError, TypeError, AttributeError, sqlite3.Error) as error:
            problem = f"line {count}: not a line of an export ({error})" if count > 1 else _NONE
            raise UnreadableLogError(problem) from error
    if not count:
        raise UnreadableLogError(_NONE)
    if told != count - 2:
        raise UnreadableLogError(f"the export is cut off behind line {count}")


def _check_head(document: Row) -> None:
    if document.get("form") != NAME:
        raise ValueError
    version, schema = int(str(document["version"])), int(str(document["schema"]))
    if version > FORM or schema > SCHEMA_VERSION:
        raise UnreadableLogError(
            f"exported with form {version} of schema version {schema}, this phasewalk reads up to {FORM} of"
            f" {SCHEMA_VERSION}; use the newer phasewalk"
        )


def _insert(log: sqlite3.Connection, table: str, row: Row, known: dict[str, set[str]]) -> None:
    if table not in known:
        raise ValueError(f"no table is called {table!r}")
    if table == "payload":
        text = row.pop("text")
        row |= {"encoding": "utf-8", "body": text if text is None else str(text).encode()}
    unknown = sorted(row.keys() - known[table])
    if unknown:
        raise ValueError(f"{table} has no column {unknown[0]!r}")
    names: Sequence[str] = list(row)
    marks = ", ".join("?" * len(names))
    columns = ", ".join(f'"{name}"' for name in names)
    log.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", [row[name] for name in names])  # noqa: S608 - names were checked
