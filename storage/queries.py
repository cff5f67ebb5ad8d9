"""The questions that operators ask of the log, as SQL; plain dictionaries out, read-only connections in.

Owns every query of the looking commands but those of a single turn (`turn_document.py`). Imports nothing that
takes time to import: the first screen must come at once (OPS-15).
"""

import re
import socket
import sqlite3
from collections.abc import Iterable, Sequence

from phasewalk.storage.process import is_alive

Row = dict[str, object]

_LINK = re.compile(r"https?://(?:\w+\.)?discord(?:app)?\.com/channels/[^/]+/\d+/(\d+)/?$")
_LAST = re.compile(r"last(?:~(\d+))?$")
MESSAGE_ID_DIGITS = 15
"""A name of at least so many digits is a message id, not a turn's."""

PREFIX_CHARS = 4


def rows(connection: sqlite3.Connection, sql: str, values: Sequence[object] | Row = ()) -> list[Row]:
    """Each row as a dictionary."""
    cursor = connection.execute(sql, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def turns_named(connection: sqlite3.Connection, name: str) -> list[str]:
    """The ids of the turns that `name` may mean (OPS-10): none, one, or several.

    A name is an id, a unique prefix of 4 or more characters, `last`, `last~2`, a message link or a message id, of
    the question or of the reply.
    """
    last = _LAST.match(name)
    if last:
        sql = "SELECT turn_id FROM turn ORDER BY turn_id DESC LIMIT 1 OFFSET ?"
        return _ids(connection.execute(sql, (int(last.group(1) or 0),)))
    link = _LINK.match(name)
    message = link.group(1) if link else name
    if link or (message.isdigit() and len(message) >= MESSAGE_ID_DIGITS):
        sql = "SELECT turn_id FROM turn WHERE trigger_message_id = ?1 OR reply_message_id = ?1 ORDER BY turn_id"
        return _ids(connection.execute(sql, (message,)))
    exact = _ids(connection.execute("SELECT turn_id FROM turn WHERE turn_id = ?", (name,)))
    if exact or len(name) < PREFIX_CHARS:
        return exact
    sql = "SELECT turn_id FROM turn WHERE turn_id >= ?1 AND turn_id < ?1 || char(0x10FFFF) ORDER BY turn_id LIMIT 20"
    return _ids(connection.execute(sql, (name,)))


def _ids(found: Iterable[tuple[str]]) -> list[str]:
    return [turn_id for (turn_id,) in found]


def coverage(connection: sqlite3.Connection) -> Row:
    """Which period the log covers, what was pruned from it and what was lost."""
    return rows(connection, 'SELECT "from", "to", turns, pruned_before, payloads_pruned, rows_lost FROM log_coverage')[
        0
    ]


FILTERS = {
    "outcome": "coalesce(t.outcome, 'running') = :outcome",
    "reason": "(t.reason = :reason OR t.first_reason = :reason)",
    "phase": "coalesce(t.reason_phase, t.phase) = :phase",
    "channel": "(t.channel_name = :channel OR t.channel_id = :channel)",
    "user": "(t.user_name = :user OR t.user_id = :user)",
    "model": "EXISTS (SELECT 1 FROM attempt AS a WHERE a.turn_id = t.turn_id AND a.model = :model)",
    "since": "t.started_us >= :since",
    "until": "t.started_us < :until",
}
RETRYING = "t.ended_us IS NULL AND t.attempts > 1"


def list_turns(
    connection: sqlite3.Connection,
    filters: dict[str, object],
    *,
    retrying: bool,
    where: str | None,
    limit: int,
) -> list[Row]:
    """The newest turns that all filters fit, at most `limit` + 1; raises `sqlite3.Error` for a wrong `where`."""
    asked = {name: value for name, value in filters.items() if value is not None}
    conditions = [FILTERS[name] for name in asked]
    conditions += [RETRYING] if retrying else []
    conditions += [f"({where})"] if where else []
    sql = (
        "SELECT t.turn_id, t.started, t.started_us, t.kind, coalesce(t.outcome, 'running') AS outcome, t.reason,"
        " coalesce(t.reason_phase, t.phase) AS phase, t.channel_id, t.channel_name, t.user_id, t.user_name, t.attempts,"
        " t.rounds, t.effects, round((t.ended_us - t.started_us) / 1000.0, 3) AS took_ms, t.text_digest"
        " FROM turn AS t"
        f"{' WHERE ' + ' AND '.join(conditions) if conditions else ''} ORDER BY t.turn_id DESC LIMIT {limit + 1}"
    )
    return rows(connection, sql, asked)


def stuck_turns(connection: sqlite3.Connection) -> list[Row]:
    """What does not move, by which rule; a process of this host that is gone is looked up, not guessed."""
    stuck = {str(row["turn_id"]): row for row in rows(connection, "SELECT * FROM stuck_turns ORDER BY since_us")}
    here = rows(
        connection,
        "SELECT t.turn_id, p.process_id, p.pid, p.pid_started, t.phase, t.kind, t.channel_id, t.channel_name, t.user_id,"
        " t.user_name, t.addressed, p.host, e.at_us AS since_us, e.at AS since,"
        " round((julianday('now') - 2440587.5) * 86400.0 - p.heartbeat_us / 1000000.0, 3) AS heartbeat_age"
        " FROM turn AS t JOIN process AS p ON p.process_id = t.process_id"
        " JOIN phase_event AS e ON e.turn_id = t.turn_id AND e.seq = ("
        " SELECT max(seq) FROM phase_event WHERE turn_id = t.turn_id AND kind = 'enter')"
        " WHERE t.ended_us IS NULL AND p.host = ? ORDER BY e.at_us",
        (socket.gethostname(),),
    )
    alive: dict[object, bool] = {}
    for row in here:
        process = row["process_id"]
        if process not in alive:
            alive[process] = is_alive(int(str(row["pid"])), str(row["pid_started"]))
        if not alive[process]:
            age = row.pop("heartbeat_age")
            stuck[str(row["turn_id"])] = {**row, "rule": "process_gone", "value": age, "threshold": 0.0}
    order = (
        "turn_id",
        "phase",
        "rule",
        "value",
        "threshold",
        "since",
        "since_us",
        "kind",
        "channel_id",
        "channel_name",
    )
    rest = ("user_id", "user_name", "addressed", "process_id", "host", "pid")
    found = [{name: row[name] for name in (*order, *rest)} for row in stuck.values()]
    return sorted(found, key=lambda row: int(str(row["since_us"])))


def machine_of(connection: sqlite3.Connection, turn_id: str) -> str:
    """The table that the turn walked, as the JSON text that was stored with it."""
    sql = "SELECT m.body FROM machine AS m JOIN turn AS t ON t.machine_hash = m.hash WHERE t.turn_id = ?"
    return str(connection.execute(sql, (turn_id,)).fetchone()[0])


def path_of(connection: sqlite3.Connection, turn_id: str) -> list[tuple[str, str, str]]:
    """The steps of a turn: phase, transition, next phase."""
    sql = "SELECT phase, transition, to_phase FROM phase_event WHERE turn_id = ? AND kind = 'exit' ORDER BY seq"
    return [(str(a), str(b), str(c)) for a, b, c in connection.execute(sql, (turn_id,))]


def heat_of(connection: sqlite3.Connection, machine_hash: str, since_us: int | None) -> dict[tuple[str, str, str], int]:
    """How often each step of this machine was taken."""
    sql = (
        "SELECT e.phase, e.transition, e.to_phase, count(*) FROM phase_event AS e"
        " JOIN turn AS t ON t.turn_id = e.turn_id"
        " WHERE e.kind = 'exit' AND t.machine_hash = ? AND e.at_us >= ? GROUP BY 1, 2, 3"
    )
    return {(str(a), str(b), str(c)): int(n) for a, b, c, n in connection.execute(sql, (machine_hash, since_us or 0))}
