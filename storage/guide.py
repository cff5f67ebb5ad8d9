"""What the tables and views of the log are for, one line each, and one read-only query of an operator.

Owns the sentences of the documented interface and which statements may run. Knows no way of printing.
Invariant: whatever text is handed in, nothing is written: not to the log, not to any other file.
"""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

TABLES: dict[str, str] = {
    "turn": "each turn: who, where, when, in which phase, how and why it ended",
    "phase_event": "entry and exit of each visit to a phase, with the guards that were asked",
    "attempt": "each model call: cause, candidate, status, reason, tokens",
    "fallback_step": "each candidate considered: decision, reason, rule, values compared",
    "tool_call": "each tool call: round, name, status, reason",
    "effect": "what cannot be taken back; its present state is in the view effects",
    "effect_event": "intent and receipt of each effect",
    "contract": "what turns were allowed to use, by digest",
    "configuration": "by which settings processes ran, by digest; no secrets",
    "machine": "each transition table that was ever run, by digest",
    "process": "each process that wrote the log: host, pid, version, sign of life, end",
    "payload": "long texts, stored once by digest; a pruned one has no body",
    "message": "the conversation as history; trimmed_us marks what left the working window",
    "message_index": "full-text index over messages: three characters in a row, folded; no text",
    "message_indexed": "up to which message the full-text index reaches",
    "note": "notes kept for people by the tools",
    "task": "tasks of people, with the time when they are due",
    "fact": "facts remembered about people by the tools",
    "circuit": "each provider that failed: open until when, who probes it",
    "circuit_failure": "what counted against a provider, once a turn",
    "approval": "tool calls that wait for a permission, were permitted, were made",
    "summary": "what was said in a channel before its working window, in short",
    "summary_queue": "how much left the window of a channel since its last summary",
    "operator_action": "what operators changed by command: when, who, what, before, after",
    "ignored_message": "messages that opened no turn, counted by hour, process, channel and reason",
    "reason": "the closed list of reasons: code, severity, meaning",
    "payload_left": "texts old enough to be pruned that a running process may still refer to",
    "prune_log": "what was pruned or erased, when, before which time",
    "log_loss": "rows that could not be written",
}

VIEWS: dict[str, str] = {
    "effects": "each effect with its present state",
    "effects_in_doubt": "what may or may not have happened",
    "stuck_turns": "what does not move, since when, by which rule, number beside threshold",
    "turn_timeline": "what happened in a turn, in order, with offsets",
    "attempt_tree": "which model calls, caused by what, with which errors",
    "fallback_stops": "for each turn where fallback ended: candidate, reason, rule, values",
    "silent_turns": "who spoke to the bot and got nothing",
    "failure_groups": "which distinct failures, since when, how many people",
    "transition_heat": "how often each transition was used, which never",
    "log_coverage": "what period an answer covers, what was pruned or lost",
}


class Relation(NamedTuple):
    """A documented table or view."""

    name: str
    type: str
    description: str
    columns: tuple[str, ...]


class QueryError(Exception):
    """A query that cannot be answered, and would not be by trying again; the message is one sentence."""


def relations(log: sqlite3.Connection) -> list[Relation]:
    """The documented views, then the documented tables, with their columns."""
    found = []
    for kind, described in (("view", VIEWS), ("table", TABLES)):
        for name, description in described.items():
            columns = log.execute("SELECT name FROM pragma_table_xinfo(?) ORDER BY cid", (name,)).fetchall()
            found.append(Relation(name, kind, description, tuple(column for (column,) in columns)))
    return found


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
