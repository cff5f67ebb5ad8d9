"""A file of every earlier schema version is opened, copied aside and brought up to date (LOG-04)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from older_logs import OLDER, older_log

from phasewalk.storage.database import SCHEMA_VERSION, open_for_reading, open_for_writing


@pytest.fixture
def older(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return older_log(tmp_path / "older.db", request.param)


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
