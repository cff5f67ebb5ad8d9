"""What the tables and views of the log are for, and one read-only query of an operator.

The sentences of the documented interface stand in `metadata.json`, in the form that Datasette reads. Owns which
statements may run. Knows no way of printing.
Invariant: whatever text is handed in, nothing is written: not to the log, not to any other file.
"""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DATABASE = "phasewalk"
"""How the shipped metadata calls the log."""


class Relation(NamedTuple):
    """A documented table or view; `about` tells a line of each column."""

    name: str
    type: str
    description: str
    columns: tuple[str, ...]
    about: dict[str, str]


class QueryError(Exception):
    """A query that cannot be answered, and would not be by trying again; the message is one sentence."""


def metadata(database: str = DATABASE) -> dict[str, Any]:
    """What Datasette shows of a log: titles, a line for each column, the questions as queries.

    `database` is how Datasette calls the file: its name without the suffix.
    """
    document: dict[str, Any] = json.loads(Path(__file__).with_name("metadata.json").read_text("utf-8"))
    return {**document, "databases": {database: document["databases"][DATABASE]}}


def relations(log: sqlite3.Connection) -> list[Relation]:
    """The documented views, then the documented tables, with their columns."""
    found = []
    types = dict(log.execute("SELECT name, type FROM sqlite_master").fetchall())
    for name, told in described().items():
        columns = log.execute("SELECT name FROM pragma_table_xinfo(?) ORDER BY cid", (name,)).fetchall()
        names = tuple(str(column) for (column,) in columns)
        found.append(Relation(name, str(types.get(name)), told["description"], names, told["columns"]))
    return found


def described() -> dict[str, Any]:
    """Each documented view and table: title, description, columns."""
    tables: dict[str, Any] = metadata()["databases"][DATABASE]["tables"]
    return tables


_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_PRAGMAS = {
    "application_id", "compile_options", "database_list", "encoding", "foreign_key_check", "foreign_key_list",
    "freelist_count", "function_list", "index_info", "index_list", "index_xinfo", "integrity_check", "journal_mode",
    "page_count", "page_size", "quick_check", "schema_version", "table_info", "table_list", "table_xinfo",
    "user_version",
}  # fmt: skip
_OPERATORS_FAULT = {
    sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_RANGE,
}  # fmt: skip
_REFUSED = "this command only reads; SELECT, VALUES, WITH, EXPLAIN and a PRAGMA that reads are accepted"


def _authorized(action: int, first: str | None, _second: str | None, _schema: str | None, _inner: str | None) -> int:
    """Reading is allowed. A read-only file is not enough: ATTACH and VACUUM INTO would write another one."""
    if action in _READS or (action == sqlite3.SQLITE_PRAGMA and str(first).lower() in _PRAGMAS):
        return sqlite3.SQLITE_OK
    if (action, first) == (sqlite3.SQLITE_UPDATE, "sqlite_master"):
        return sqlite3.SQLITE_OK  # asked for every table-valued function; SQLite itself lets nobody write there
    return sqlite3.SQLITE_DENY


def asked(log: sqlite3.Connection, query: str) -> tuple[tuple[str, ...], Iterator[tuple[object, ...]]]:
    """The names of the columns and the rows, as they come.

    Raises `QueryError`, also while the rows are read, for a wrong query and for an attempt to write; what else
    SQLite raises is the file's fault.
    """
    log.set_authorizer(_authorized)
    try:
        cursor = log.execute(query)
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError) as error:
        raise _explained(error) from error
    if cursor.description is None:
        raise QueryError("the query holds no statement that returns rows; SELECT, VALUES, WITH or EXPLAIN do")
    return tuple(column[0] for column in cursor.description), _rows(cursor)


def _rows(cursor: sqlite3.Cursor) -> Iterator[tuple[object, ...]]:
    try:
        yield from cursor
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _explained(error) from error


def _explained(error: Exception) -> Exception:
    """The error as one sentence when the query is to blame, else unchanged."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, sqlite3.DatabaseError) and code is not None and code & 0xFF not in _OPERATORS_FAULT:
        return error
    if code in (sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY) or str(error).startswith(
        ("not authorized", "cannot VACUUM", "table sqlite_master may not")
    ):
        return QueryError(_REFUSED)
    said = str(error)
    return QueryError(f"the query is not understood: {said[:1].lower()}{said[1:]}")
