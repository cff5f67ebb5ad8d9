"""The questions that operators ask of the log, as SQL; plain dictionaries out, read-only connections in.

Owns every query of the looking commands but those of a single turn (`turn_document.py`). Imports nothing that
takes time to import: the first screen must come at once (OPS-15).
"""

import json
import re
import socket
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from phasewalk.machine.turn_ids import floor_of
from phasewalk.storage.process import is_alive

Row = dict[str, object]

_LINK = re.compile(r"https?://(?:\w+\.)?discord(?:app)?\.com/channels/[^/]+/\d+/(\d+)/?(?:[?#].*)?")
_LAST = re.compile(r"last(?:~(\d{1,9}))?")
MESSAGE_ID_DIGITS = 15
"""A name of at least so many digits is a message id, not a turn's."""

PREFIX_CHARS = 4

FOREVER_US = 2**62
"""After every time: the end of a period that has none."""

SLACK_US = 60_000_000
"""How much later a turn may be said to have started than the time that stands in its id."""


def id_floor(since_us: int) -> str:
    """What sorts before the id of every turn started since then."""
    return floor_of(max(since_us - SLACK_US, 0) // 1_000_000)


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
    exact = _ids(connection.execute("SELECT turn_id FROM turn WHERE turn_id = ?", (name,)))
    if exact:
        return exact
    last = _LAST.fullmatch(name)
    if last:
        sql = "SELECT turn_id FROM turn ORDER BY turn_id DESC LIMIT 1 OFFSET ?"
        return _ids(connection.execute(sql, (int(last.group(1) or 0),)))
    link = _LINK.fullmatch(name.strip("<>"))
    message = link.group(1) if link else name
    if link or (message.isdecimal() and len(message) >= MESSAGE_ID_DIGITS):
        found = _turns_of_message(connection, message)
        if found or link:
            return found
    if len(name) < PREFIX_CHARS:
        return []
    sql = "SELECT turn_id FROM turn WHERE turn_id >= ?1 AND turn_id < ?1 || char(0x10FFFF) ORDER BY turn_id LIMIT 20"
    return _ids(connection.execute(sql, (name,)))


def _turns_of_message(connection: sqlite3.Connection, message_id: str) -> list[str]:
    """The turns that a message opened or that it answers; later parts of an answer stand in history alone."""
    found = connection.execute(
        "SELECT turn_id FROM turn WHERE trigger_message_id = ?1 AND trigger_message_id <> ''"
        " UNION SELECT turn_id FROM turn WHERE reply_message_id = ?1 ORDER BY 1",
        (message_id,),
    ).fetchall()
    if not found:
        sql = "SELECT DISTINCT turn_id FROM message WHERE message_id = ? AND turn_id IS NOT NULL ORDER BY 1"
        found = connection.execute(sql, (message_id,)).fetchall()
    return _ids(found)


def _ids(found: Iterable[tuple[str]]) -> list[str]:
    return [turn_id for (turn_id,) in found]


class Covered(NamedTuple):
    """The period of a log; None for a time that there is not."""

    from_us: int | None
    to_us: int | None
    turns: int
    pruned_before_us: int | None
    rows_lost: int


def covered_period(connection: sqlite3.Connection) -> Covered:
    """Which period the log covers, as numbers."""
    row = connection.execute("SELECT from_us, to_us, turns, pruned_before_us, rows_lost FROM log_coverage").fetchone()
    return Covered(*row)


def coverage(connection: sqlite3.Connection) -> Row:
    """The same for programs: ISO times, None for what there is not."""
    return rows(connection, 'SELECT "from", "to", turns, pruned_before, rows_lost FROM log_coverage')[0]


FILTERS = {
    "ids": "t.turn_id IN (SELECT value FROM json_each(:ids))",
    "outcome": "coalesce(t.outcome, 'running') = :outcome",
    "reason": "(t.reason = :reason OR t.first_reason = :reason)",
    "phase": "coalesce(t.reason_phase, t.phase) = :phase",
    "channel": "(t.channel_name = :channel OR t.channel_id = :channel)",
    "user": "(t.user_name = :user OR t.user_id = :user)",
    "model": "EXISTS (SELECT 1 FROM attempt AS a WHERE a.turn_id = t.turn_id"
    " AND :model IN (a.model, a.provider, a.provider || '/' || a.model))",
    "since": "t.turn_id >= :floor AND t.started_us >= :since",
    "until": "t.started_us < :until",
}
RETRYING = (
    "t.ended_us IS NULL AND EXISTS (SELECT 1 FROM attempt AS a WHERE a.turn_id = t.turn_id"
    " AND a.cause IN ('retry', 'retry_model', 'shrunk', 'fallback'))"
)


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
    conditions += [f"(\n{where}\n)"] if where is not None else []  # a comment at its end hides nothing
    if "since" in asked:
        asked["floor"] = id_floor(int(str(asked["since"])))
    sql = (
        "SELECT t.turn_id, t.started, t.started_us, t.kind, coalesce(t.outcome, 'running') AS outcome, t.reason,"
        " t.first_reason, coalesce(t.reason_phase, t.phase) AS phase, t.channel_id, t.channel_name, t.user_id,"
        " t.user_name, t.attempts,"
        " t.rounds, t.effects, round((t.ended_us - t.started_us) / 1000.0, 3) AS took_ms, t.text_digest"
        " FROM turn AS t"
        f"{' WHERE ' + ' AND '.join(conditions) if conditions else ''} ORDER BY t.turn_id DESC LIMIT {limit + 1}"
    )
    return rows(connection, sql, asked)


def turns_between(connection: sqlite3.Connection, since_us: int | None, until_us: int | None) -> list[str]:
    """The turns that began in a period, oldest first; None leaves it open."""
    since, until = since_us or 0, until_us if until_us is not None else 2**62
    sql = "SELECT turn_id FROM turn WHERE turn_id >= ? AND started_us >= ? AND started_us < ? ORDER BY turn_id"
    return _ids(connection.execute(sql, (id_floor(since), since, until)))


_STUCK = (
    "SELECT t.turn_id, t.phase, s.rule, s.value, s.threshold,"
    " coalesce(s.since_us, e.at_us, t.started_us) AS since_us, coalesce(s.since, e.at, t.started) AS since,"
    " t.kind, t.channel_id, t.channel_name, t.user_id, t.user_name, t.addressed,"
    " CAST(p.process_id AS TEXT) AS process_id, p.host, p.pid, p.pid_started,"
    " p.heartbeat_us, t.deadline_us, e.at_us + e.budget_ms * 1000 AS budget_us,"
    " round((julianday('now') - 2440587.5) * 86400.0 - p.heartbeat_us / 1000000.0, 3) AS heartbeat_age"
    " FROM turn AS t JOIN process AS p ON p.process_id = t.process_id"
    " LEFT JOIN phase_event AS e ON e.turn_id = t.turn_id AND e.seq = ("
    "  SELECT max(seq) FROM phase_event WHERE turn_id = t.turn_id AND kind = 'enter')"
    " LEFT JOIN stuck_turns AS s ON s.turn_id = t.turn_id"
    " WHERE t.ended_us IS NULL ORDER BY since_us, t.turn_id"
)


def stuck_turns(connection: sqlite3.Connection, alive: Callable[[int, str], bool] = is_alive) -> list[Row]:
    """What does not move, by which rule; a process of this host that is gone is looked up, not guessed.

    `counted_from_us` is the instant that the rule compares with the present one. `alive` tells of a pid of this
    host, with its mark, whether it runs.
    """
    host = socket.gethostname()
    found = []
    for row in rows(connection, _STUCK):
        mark, age = str(row.pop("pid_started")), row.pop("heartbeat_age")
        heartbeat, deadline, budget = row.pop("heartbeat_us"), row.pop("deadline_us"), row.pop("budget_us")
        if row["host"] == host and not alive(int(str(row["pid"])), mark):
            row |= {"rule": "process_gone", "value": age, "threshold": 0.0}
        if row["rule"] is not None:
            instants = {"deadline_passed": deadline, "phase_over_budget": budget}
            found.append({**row, "counted_from_us": instants.get(str(row["rule"]), heartbeat)})
    return found


_DOUBTFUL = (
    "SELECT t.turn_id, t.phase, 'in_doubt' AS rule,"
    " (julianday('now') - 2440587.5) * 86400.0 - e.intended_us / 1000000.0 AS value, 0.0 AS threshold,"
    " e.intended_us AS since_us, e.intended AS since, t.kind, t.channel_id, t.channel_name, t.user_id,"
    " t.user_name, t.addressed, t.process_id, p.host, p.pid, e.intended_us AS counted_from_us,"
    " e.effect_id, e.kind AS effect, e.target FROM turn AS t JOIN process AS p ON p.process_id = t.process_id"
    " JOIN effects AS e ON e.turn_id = t.turn_id AND e.state = 'in_doubt'"
    " WHERE t.outcome IN ('in_doubt', 'expired', 'cancelled') ORDER BY e.intended_us"
)


def doubtful_effects(connection: sqlite3.Connection) -> list[Row]:
    """Effects in doubt of turns that ended so, that were cancelled or whose time was up; beside `stuck_turns`."""
    return list(rows(connection, _DOUBTFUL))


def reason_codes(connection: sqlite3.Connection) -> list[str]:
    """Every reason that the log knows."""
    return [str(code) for (code,) in connection.execute("SELECT code FROM reason ORDER BY code")]


def phase_names(connection: sqlite3.Connection) -> list[str]:
    """Every phase of every machine that the log holds."""
    sql = "SELECT DISTINCT p.value FROM machine AS m, json_each(m.body, '$.phases') AS p ORDER BY 1"
    return [str(name) for (name,) in connection.execute(sql)]


def machine_of(connection: sqlite3.Connection, turn_id: str) -> str:
    """The table that the turn walked, as the JSON text that was stored with it."""
    sql = "SELECT m.body FROM machine AS m JOIN turn AS t ON t.machine_hash = m.hash WHERE t.turn_id = ?"
    return str(connection.execute(sql, (turn_id,)).fetchone()[0])


def path_of(connection: sqlite3.Connection, turn_id: str) -> list[tuple[str, str, str]]:
    """The steps of a turn: phase, transition, next phase."""
    sql = "SELECT phase, transition, to_phase FROM phase_event WHERE turn_id = ? AND kind = 'exit' ORDER BY seq"
    return [(str(a), str(b), str(c)) for a, b, c in connection.execute(sql, (turn_id,))]


def heat_of(
    connection: sqlite3.Connection, machine_hash: str, since_us: int | None, until_us: int | None = None
) -> dict[tuple[str, str, str], int]:
    """How often each step of this machine was taken in a period."""
    sql = (
        "SELECT e.phase, e.transition, e.to_phase, count(*) FROM turn AS t"
        " CROSS JOIN phase_event AS e ON e.turn_id = t.turn_id"
        " WHERE e.kind = 'exit' AND t.turn_id >= :floor AND t.machine_hash = :machine"
        " AND e.at_us >= :since AND e.at_us < :until GROUP BY 1, 2, 3"
    )
    since, until = since_us or 0, until_us if until_us is not None else FOREVER_US
    floor = id_floor(max(since - LONGEST_TURN_US, 0))
    found = connection.execute(sql, {"machine": machine_hash, "floor": floor, "since": since, "until": until})
    return {(str(a), str(b), str(c)): int(n) for a, b, c, n in found}


def machines_in(connection: sqlite3.Connection, since_us: int, until_us: int | None) -> list[Row]:
    """The machines that turns of a period walked, the turns' own before that of summaries, the busiest first."""
    sql = (
        "WITH walked AS (SELECT machine_hash AS hash, count(*) AS turns FROM turn"
        "  WHERE turn_id >= ? AND started_us >= ? AND started_us < ? GROUP BY machine_hash)"
        " SELECT m.hash, m.name, m.body, w.turns FROM walked AS w JOIN machine AS m ON m.hash = w.hash"
        " ORDER BY m.name = 'turn' DESC, m.name, w.turns DESC, m.hash"
    )
    return rows(connection, sql, (id_floor(since_us), since_us, until_us if until_us is not None else FOREVER_US))


CIRCUITS = (
    "SELECT c.provider, CASE WHEN c.opened_us IS NULL THEN 'closed'"
    "  WHEN :now BETWEEN c.opened_us AND c.open_until_us THEN 'open' ELSE 'half_open' END AS state,"
    " (SELECT count(*) FROM circuit_failure AS f WHERE f.provider = c.provider AND f.at_us > c.cleared_us) AS failures,"
    " c.opened_us, c.opened, c.open_until_us, c.open_until,"
    " CASE WHEN c.probe_until_us > :now THEN c.probe_turn_id END AS probe_turn_id,"
    " last.at_us AS last_failure_us, last.at AS last_failure, last.reason AS last_reason, last.turn_id AS last_turn_id"
    " FROM circuit AS c LEFT JOIN circuit_failure AS last ON last.provider = c.provider AND last.turn_id = ("
    "  SELECT turn_id FROM circuit_failure WHERE provider = c.provider ORDER BY at_us DESC LIMIT 1)"
    " ORDER BY c.provider"
)


def circuits(connection: sqlite3.Connection, now_us: int) -> list[Row]:
    """Each provider that ever failed: how its circuit stands at `now_us`, and what counted against it last."""
    return rows(connection, CIRCUITS, {"now": now_us})


APPROVALS = (
    "SELECT approval_id, tool, arguments, user_id, user_name, channel_id, turn_id, asked_us, asked, approved_us,"
    " approved_by, CASE WHEN approved_us IS NULL THEN 'waiting' ELSE 'permitted' END AS state"
    " FROM approval WHERE used_us IS NULL ORDER BY asked_us"
)


def open_approvals(connection: sqlite3.Connection) -> list[Row]:
    """Calls that wait for a permission, and permissions that nobody has used yet; oldest first."""
    return rows(connection, APPROVALS)


LONGEST_TURN_US = 86_400_000_000
"""A turn that began more than a day before a time considered nobody after it."""

FALLBACK = (
    "WITH considered AS (SELECT *, row_number() OVER (PARTITION BY decision, reason, rule"
    "  ORDER BY at_us DESC, turn_id DESC, step DESC) AS place FROM fallback_step"
    "  WHERE decision <> 'taken' AND turn_id >= :floor AND at_us >= :since AND at_us < :until),"
    " grouped AS (SELECT decision, reason, rule, count(*) AS steps, count(DISTINCT turn_id) AS turns,"
    "  min(at_us) AS first_us, min(at) AS first, max(at_us) AS last_us, max(at) AS last"
    "  FROM considered GROUP BY decision, reason, rule)"
    " SELECT g.decision, g.reason, r.meaning, g.rule, g.steps, g.turns, g.first_us, g.first, g.last_us, g.last,"
    ' s.turn_id AS last_turn_id, s."values" AS last_values'
    " FROM grouped AS g JOIN reason AS r ON r.code = g.reason JOIN considered AS s ON s.place = 1"
    "  AND s.decision = g.decision AND s.reason = g.reason AND s.rule IS g.rule"
    " ORDER BY g.decision = 'skipped', g.turns DESC, g.last_us DESC"
)


def fallback_decisions(connection: sqlite3.Connection, since_us: int | None, until_us: int | None) -> list[Row]:
    """Why fallback stopped, or passed somebody over, grouped by decision, reason and rule; the last values of each."""
    since, until = since_us or 0, until_us if until_us is not None else FOREVER_US
    floor = id_floor(max(since - LONGEST_TURN_US, 0))
    found = rows(connection, FALLBACK, {"floor": floor, "since": since, "until": until})
    return [{**row, "last_values": json.loads(str(row["last_values"]))} for row in found]
