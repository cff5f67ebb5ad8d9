"""Logs as earlier schema versions left them."""

import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from phasewalk.storage.database import APPLICATION_ID, SCHEMA_VERSION
from phasewalk.storage.search import prepare

STEPS = {
    "0001_the_log": ("schema.sql", "views.sql"),
    "0002_full_text": ("search.sql",),
    "0003_ignored_by_hour": ("version_3.sql",),
    "0004_live": ("version_4.sql",),
}
OLDER = range(1, SCHEMA_VERSION)


def older_log(path: Path, version: int) -> Path:
    """A file as this version left it, with a process, a turn and what it ignored."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection)
        connection.execute("CREATE TABLE _sqlite_migrations (migration_set TEXT, name TEXT, applied_at TEXT, PRIMARY KEY (migration_set, name))")  # fmt: skip
        for name in list(STEPS)[:version]:
            for script in STEPS[name]:
                connection.executescript(files("phasewalk.storage").joinpath(script).read_text("utf-8"))
            connection.execute("INSERT INTO _sqlite_migrations VALUES ('phasewalk', ?, '2026-11-30')", (name,))
        connection.executescript(
            f"""PRAGMA application_id = {APPLICATION_ID};
            PRAGMA user_version = {version};
            INSERT INTO reason VALUES ('ok', 'info', 'all went well'), ('paused', 'info', 'paused');
            INSERT INTO machine VALUES ('m', 'turn', '{{}}', 1);
            INSERT INTO process (process_id, host, pid, command, version, started_us, heartbeat_us)
                VALUES (1, 'h', 1, 'bot', '0.1.0', 1, 2);
            INSERT INTO turn (turn_id, machine, kind, trigger_key, channel_id, user_id, started_us, deadline_us, ended_us,
                phase, outcome, reason, reason_phase, addressed, machine_hash, process_id, lease_token, lease_until_us)
                VALUES ('t', 'turn', 'user', 'k', '2', '3', 1000000, 2000000, 1500000, 'done', 'answered', 'ok', 'record',
                1, 'm', 1, 'x', 1);
            INSERT INTO ignored_message ({"hour_us, " if version > 2 else ""}process_id, channel_id, reason, count, last_us)
                VALUES ({"7200000000, " if version > 2 else ""}1, '2', 'paused', 7, 7200000001);"""
        )
    return path
