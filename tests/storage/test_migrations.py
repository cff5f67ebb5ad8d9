"""A file of every earlier schema version is opened, copied aside and brought up to date (LOG-04)."""

import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

from phasewalk.storage.database import APPLICATION_ID, SCHEMA_VERSION, open_for_reading, open_for_writing
from phasewalk.storage.search import prepare

STEPS = {"0001_the_log": ("schema.sql", "views.sql"), "0002_full_text": ("search.sql",)}
OLDER = range(1, SCHEMA_VERSION)


@pytest.fixture
def older(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A file as this version left it, with a process, a turn and what it ignored."""
    path = tmp_path / "older.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prepare(connection)
        connection.execute("CREATE TABLE _sqlite_migrations (migration_set TEXT, name TEXT, applied_at TEXT, PRIMARY KEY (migration_set, name))")  # fmt: skip
        for name in list(STEPS)[: request.param]:
            for script in STEPS[name]:
                connection.executescript(files("phasewalk.storage").joinpath(script).read_text("utf-8"))
            connection.execute("INSERT INTO _sqlite_migrations VALUES ('phasewalk', ?, '2026-11-30')", (name,))
        connection.executescript(
            f"""PRAGMA application_id = {APPLICATION_ID};
            PRAGMA user_version = {request.param};
            INSERT INTO reason VALUES ('ok', 'info', 'all went well'), ('paused', 'info', 'paused');
            INSERT INTO machine VALUES ('m', 'turn', '{{}}', 1);
            INSERT INTO process (process_id, host, pid, command, version, started_us, heartbeat_us)
                VALUES (1, 'h', 1, 'bot', '0.1.0', 1, 2);
            INSERT INTO turn (turn_id, machine, kind, trigger_key, channel_id, user_id, started_us, deadline_us, ended_us,
                phase, outcome, reason, reason_phase, addressed, machine_hash, process_id, lease_token, lease_until_us)
                VALUES ('t', 'turn', 'user', 'k', '2', '3', 1000000, 2000000, 1500000, 'done', 'answered', 'ok', 'record',
                1, 'm', 1, 'x', 1);
            INSERT INTO ignored_message VALUES (1, '2', 'paused', 7, 7200000001);"""
        )
    return path


@pytest.mark.spec("LOG-04")
@pytest.mark.parametrize("older", OLDER, indirect=True)
def test_an_older_file_keeps_its_rows_and_gets_the_schema_of_a_new_one(older: Path, tmp_path: Path):
    shape = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE '%migrations%' ORDER BY 1, 2"
    with closing(open_for_writing(older)) as log, closing(open_for_writing(tmp_path / "new.db")) as new:
        assert log.execute(shape).fetchall() == new.execute(shape).fetchall()
        assert log.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert log.execute("SELECT turn_id, outcome, deadline FROM turn").fetchall() == [
            ("t", "answered", "1970-01-01T00:00:02.000Z")
        ]
        assert log.execute("SELECT reason, count, hour, last_us FROM ignored_message").fetchall() == [
            ("paused", 7, "1970-01-01T02:00:00.000Z", 7_200_000_001)
        ]
        assert log.execute("SELECT configuration_hash FROM process").fetchall() == [(None,)]
        assert log.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.spec("LOG-04")
@pytest.mark.parametrize("older", OLDER, indirect=True)
def test_the_file_as_it_was_lies_beside_it(older: Path, request: pytest.FixtureRequest):
    version = request.node.callspec.params["older"]
    before = older.read_bytes()
    open_for_writing(older).close()
    with closing(sqlite3.connect(older.with_name(f"older.db.v{version}.bak"))) as aside:
        assert aside.execute("PRAGMA user_version").fetchone() == (version,)
        assert aside.execute("SELECT turn_id FROM turn").fetchall() == [("t",)]
    assert older.read_bytes() != before


@pytest.mark.spec("LOG-04", "OPS-15")
@pytest.mark.parametrize("older", OLDER, indirect=True)
def test_looking_changes_no_older_file(older: Path):
    before = older.read_bytes()
    with closing(open_for_reading(older)) as log:
        assert log.execute("SELECT count(*) FROM turn").fetchone() == (1,)
    assert older.read_bytes() == before
