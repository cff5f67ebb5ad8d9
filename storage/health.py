"""The counts behind the first screen: what happened lately, what stands still, who got nothing."""

import socket
import sqlite3

from phasewalk.storage.process import is_alive
from phasewalk.storage.queries import Row, rows

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
ENDED_BADLY = ("stopped", "partial", "undelivered", "expired", "in_doubt", "abandoned")


def newest_us(connection: sqlite3.Connection) -> int | None:
    """When the newest turn began."""
    row = connection.execute("SELECT started_us FROM turn ORDER BY turn_id DESC LIMIT 1").fetchone()
    return None if row is None else int(row[0])


def outcomes_since(connection: sqlite3.Connection, since_us: int) -> dict[str, int]:
    """Turns by outcome, from this time on; `running` for those without an end."""
    sql = "SELECT coalesce(outcome, 'running'), count(*) FROM turn WHERE started_us >= ? GROUP BY 1 ORDER BY 2 DESC"
    return {str(name): int(count) for name, count in connection.execute(sql, (since_us,))}


def reasons_since(connection: sqlite3.Connection, since_us: int, limit: int = 3) -> list[Row]:
    """Why turns ended badly, the most frequent first, with the first and the last time."""
    places = ", ".join("?" for _ in ENDED_BADLY)
    return rows(
        connection,
        "SELECT t.outcome, t.reason, coalesce(t.first_reason, t.reason) AS first_reason, t.reason_phase,"
        " count(*) AS turns, min(t.started_us) AS first_us, max(t.started_us) AS last_us, r.meaning"
        " FROM turn AS t JOIN reason AS r ON r.code = t.reason"
        f" WHERE t.started_us >= ? AND t.outcome IN ({places})"
        " GROUP BY 1, 2, 3, 4 ORDER BY turns DESC LIMIT ?",
        (since_us, *ENDED_BADLY, limit),
    )


def counts(connection: sqlite3.Connection, since_us: int) -> Row:
    """What else the first screen tells; `ignored` over the whole log, by reason."""
    one = lambda sql, *values: connection.execute(sql, values).fetchone()[0]  # noqa: E731 - a name for a line used five times
    ignored = connection.execute("SELECT reason, sum(count) FROM ignored_message GROUP BY reason ORDER BY 2 DESC")
    return {
        "running": one("SELECT count(*) FROM turn WHERE ended_us IS NULL"),
        "in_doubt": one("SELECT count(*) FROM effects_in_doubt"),
        "silent_people": one("SELECT count(*) FROM silent_turns WHERE started_us >= ?", since_us),
        "staff_notes_without_channel": one(
            "SELECT count(*) FROM turn WHERE started_us >= ? AND flags LIKE '%staff_note_without_channel%'",
            since_us,
        ),
        "ignored": {str(reason): int(count) for reason, count in ignored},
    }


def attempts_since(connection: sqlite3.Connection, since_us: int) -> list[Row]:
    """Who was asked, how often, and how often it failed."""
    return rows(
        connection,
        "SELECT provider || '/' || model AS candidate, count(*) AS attempts, sum(status = 'failed') AS failed"
        " FROM attempt WHERE started_us >= ? GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
        (since_us,),
    )


def processes(connection: sqlite3.Connection, limit: int = 3) -> list[Row]:
    """The newest processes: alive, ended, or gone without a word; `unknown` on another host."""
    found = rows(
        connection,
        "SELECT process_id, host, pid, pid_started, command, version, started, started_us, heartbeat_us, ended_us,"
        " end_reason FROM process ORDER BY process_id DESC LIMIT ?",
        (limit,),
    )
    for row in found:
        row["state"] = _state(row)
    return found


def _state(row: Row) -> str:
    if row["ended_us"] is not None:
        return "ended"
    if row["host"] != socket.gethostname():
        return "unknown"
    return "alive" if is_alive(int(str(row["pid"])), str(row["pid_started"])) else "gone"
