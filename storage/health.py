"""The numbers behind the first screen: what happened lately, who got nothing, which processes live.

Owns the counts of a period. Knows no verdict and no way of printing. Invariant: a process of this host counts as
alive only when it is seen running; the log's word is not enough.
"""

import socket
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

from phasewalk.storage.process import is_alive
from phasewalk.storage.queries import FOREVER_US, Row, id_floor

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
SILENT_US = 180_000_000
"""A process that gave no sign of life for so long is taken for deaf, or on another host for gone."""

ANSWERS = 100
"""So many of the newest answers are compared with each other."""

Alive = Callable[[int, str], bool]


class Group(NamedTuple):
    """Turns of a period that ended alike. `lately` counts those of the last hour, `noticed` those who were
    answered by a fixed notice, `flagged` staff notes without a channel.
    """

    outcome: str
    reason: str | None
    first_reason: str | None
    phase: str | None
    turns: int
    lately: int
    addressed: int
    noticed: int
    flagged: int
    first_us: int
    last_us: int
    addressed_lately: int = 0
    noticed_lately: int = 0


class Asked(NamedTuple):
    """A candidate that was asked in a period."""

    candidate: str
    attempts: int
    failed: int


class Period(NamedTuple):
    """What happened to turns that started in it; `running` counts all that have no end and started before its end.

    `heard_us` is when a message last opened a turn, ever; `repeated` says of the answers of the last hour, or the
    newest hundred of them, how many are the same words, and how many there are.
    """

    since_us: int
    groups: tuple[Group, ...]
    running: int
    got_nothing: int
    in_doubt: int
    ignored: tuple[tuple[str, int], ...]
    ignored_lately: tuple[tuple[str, int], ...]
    heard_us: int | None
    repeated: tuple[int, int]
    asked: tuple[Asked, ...]
    rows_lost: int


class Process(NamedTuple):
    """A process that wrote the log. `state` is `alive`, `ended`, `gone`, or `unknown` on another host."""

    process_id: int
    host: str
    pid: int
    command: str
    version: str
    started_us: int
    heartbeat_us: int
    ended_us: int | None
    end_reason: str | None
    state: str


def newest_us(log: sqlite3.Connection) -> int | None:
    """When the newest turn began."""
    row = log.execute("SELECT started_us FROM turn ORDER BY turn_id DESC LIMIT 1").fetchone()
    return None if row is None else int(row[0])


def period(log: sqlite3.Connection, since_us: int, lately_us: int, until_us: int | None = None) -> Period:
    """The counts from `since_us` until before `until_us`; `lately_us` is where the last hour begins."""
    until = FOREVER_US if until_us is None else until_us
    within: Row = {"floor": id_floor(since_us), "since": since_us, "until": until, "lately": lately_us}
    return Period(
        since_us=since_us,
        groups=_groups(log, within),
        running=_count(log, "SELECT count(*) FROM turn WHERE ended_us IS NULL AND started_us < :until", within),
        got_nothing=_count(log, f"SELECT count(*) FROM silent_turns AS t WHERE {WITHIN}", within),
        in_doubt=_count(log, f"SELECT count(*) FROM {IN_DOUBT} AND {WITHIN}", within),
        ignored=_ignored(log, since_us, until),
        ignored_lately=_ignored(log, lately_us, until),
        heard_us=_heard(log, until),
        repeated=_repeated(log, lately_us, until),
        asked=_asked(log, within),
        rows_lost=_count(
            log, "SELECT coalesce(sum(rows), 0) FROM log_loss WHERE at_us >= :since AND at_us < :until", within
        ),
    )


WITHIN = "t.turn_id >= :floor AND t.started_us >= :since AND t.started_us < :until"
"""A turn, or an attempt, that began in the period."""

IN_DOUBT = (
    "turn AS t CROSS JOIN effects AS e ON e.turn_id = t.turn_id"
    " WHERE t.effects > 0 AND coalesce(t.outcome, '') NOT IN ('answered', 'silent', 'short_path', 'completed')"
    " AND e.state = 'in_doubt'"
)
"""Effects in doubt. A turn that ended well has none, and the effects of most turns need not be looked at."""


def _groups(log: sqlite3.Connection, within: Row) -> tuple[Group, ...]:
    found = log.execute(
        "SELECT coalesce(t.outcome, 'running'), t.reason, t.first_reason, t.reason_phase, count(*),"
        " sum(t.started_us >= :lately), sum(t.addressed), sum(t.addressed AND t.owner IS 'notice'),"
        " sum(coalesce(t.flags, '') LIKE '%\"staff_note_without_channel\"%'), min(t.started_us), max(t.started_us),"
        " sum(t.addressed AND t.started_us >= :lately),"
        " sum(t.addressed AND t.owner IS 'notice' AND t.started_us >= :lately)"
        f" FROM turn AS t WHERE {WITHIN} GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4",
        within,
    )
    return tuple(Group(*row) for row in found)


def _ignored(log: sqlite3.Connection, since_us: int, until_us: int) -> tuple[tuple[str, int], ...]:
    """Messages that opened no turn, by reason, in the hours that reach into a period."""
    sql = (
        "SELECT reason, sum(count) FROM ignored_message WHERE hour_us > ? AND hour_us < ?"
        " GROUP BY reason ORDER BY 2 DESC, 1"
    )
    return tuple((str(reason), int(count)) for reason, count in log.execute(sql, (since_us - HOUR_US, until_us)))


def _heard(log: sqlite3.Connection, until_us: int) -> int | None:
    """When a message last opened a turn, before `until_us`."""
    sql = "SELECT started_us FROM turn WHERE kind = 'user' AND started_us < ? ORDER BY turn_id DESC LIMIT 1"
    row = log.execute(sql, (until_us,)).fetchone()
    return None if row is None else int(row[0])


def _repeated(log: sqlite3.Connection, lately_us: int, until_us: int) -> tuple[int, int]:
    """Of the newest answers, how many are the commonest words, and how many there are."""
    found = log.execute(
        "SELECT coalesce(max(same), 0), coalesce(sum(same), 0) FROM (SELECT count(*) AS same FROM ("
        "  SELECT text FROM message WHERE role = 'assistant' AND text <> '' AND state IS NOT 'failed' AND at_us >= ?"
        "  AND at_us < ? AND entry_id > (SELECT max(entry_id) FROM message) - ? ORDER BY entry_id DESC LIMIT ?)"
        " GROUP BY text)",
        (lately_us, until_us, 20 * ANSWERS, ANSWERS),
    )
    same, answers = found.fetchone()
    return int(same), int(answers)


def _asked(log: sqlite3.Connection, within: Row) -> tuple[Asked, ...]:
    found = log.execute(
        "SELECT t.provider || '/' || t.model, count(*), sum(t.status = 'failed') FROM attempt AS t"
        f" WHERE {WITHIN} GROUP BY t.provider, t.model ORDER BY 2 DESC, 1",
        within,
    )
    return tuple(Asked(*row) for row in found)


def _count(log: sqlite3.Connection, sql: str, values: Row) -> int:
    return int(log.execute(sql, values).fetchone()[0])


_PROCESSES = (
    "SELECT process_id, host, pid, command, version, started_us, heartbeat_us, ended_us, end_reason, pid_started"
    " FROM process"
)


def processes(log: sqlite3.Connection, alive: Alive = is_alive) -> list[Process]:
    """The processes that never said that they ended, and the newest of those that did; newest first.

    `alive` tells of a pid of this host, with its mark, whether it runs.
    """
    found = log.execute(
        f"{_PROCESSES} WHERE ended_us IS NULL"
        " OR process_id = (SELECT max(process_id) FROM process WHERE ended_us IS NOT NULL) ORDER BY process_id DESC",
    ).fetchall()
    host = socket.gethostname()
    return [_process(row, host, alive) for row in found]


def _process(row: tuple[Any, ...], host: str, alive: Alive) -> Process:
    *told, mark = row
    known = Process._make((*told, "unknown"))
    if known.ended_us is not None:
        return known._replace(state="ended")
    if known.host != host:
        return known
    return known._replace(state="alive" if alive(known.pid, mark) else "gone")


def process_at(log: sqlite3.Connection, at_us: int) -> Process | None:
    """The last process that had started by then, as it is now."""
    sql = f"{_PROCESSES} WHERE started_us <= ? ORDER BY process_id DESC LIMIT 1"
    row = log.execute(sql, (at_us,)).fetchone()
    return None if row is None else _process(row, socket.gethostname(), is_alive)


def fallback_stops(log: sqlite3.Connection, since_us: int) -> list[tuple[str, int]]:
    """The rules by which fallback ended since then, each with its turns, the commonest first."""
    sql = (
        "SELECT rule, count(DISTINCT turn_id) FROM fallback_stops WHERE turn_id >= ? AND at_us >= ?"
        " GROUP BY rule ORDER BY 2 DESC, 1"
    )
    return [(str(rule), int(turns)) for rule, turns in log.execute(sql, (id_floor(since_us), since_us))]
