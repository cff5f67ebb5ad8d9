"""Opening the file: new, older, newer, not ours, read-only, two at once."""

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from phasewalk.machine.errors import SchemaVersionError, StorageError, UnreadableLogError
from phasewalk.storage import database, migrations
from phasewalk.storage.database import APPLICATION_ID, SCHEMA_VERSION, open_for_reading, open_for_writing
from phasewalk.storage.process import is_alive, started_mark

OPEN = """
import sys
import threading
from pathlib import Path
from phasewalk.storage.database import open_for_writing
sys.stdin.readline()
connection = open_for_writing(Path(sys.argv[1]))
print(connection.execute("SELECT count(*) > 40 FROM reason").fetchone()[0])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def made(path: Path) -> Path:
    open_for_writing(path).close()
    return path


def pragma(path: Path, name: str) -> object:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]
    finally:
        connection.close()


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.mark.spec("LOG-02", "LOG-04")
def test_a_new_file_has_the_present_schema_and_the_promised_settings(path: Path):
    connection = open_for_writing(path)
    found = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys", "user_version", "application_id")
    }
    connection.close()
    assert found == {
        "journal_mode": "wal",
        "synchronous": 1,
        "foreign_keys": 1,
        "user_version": SCHEMA_VERSION,
        "application_id": APPLICATION_ID,
    }


@pytest.mark.spec("LOG-04")
def test_an_empty_file_becomes_a_log(path: Path):
    path.touch()
    assert pragma(made(path), "user_version") == SCHEMA_VERSION


@pytest.mark.spec("LOG-04")
def test_opening_again_changes_nothing(path: Path):
    made(path)
    before = path.read_bytes()
    assert made(path).read_bytes() == before
    assert list(path.parent.glob("*.bak")) == []


@pytest.mark.spec("LOG-04")
@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
def test_a_newer_file_is_refused_by_name_and_version(path: Path, opening):
    change(made(path), "PRAGMA user_version = 99")
    with pytest.raises(SchemaVersionError) as caught:
        opening(path)
    assert str(caught.value) == (
        f"{path}: written with schema version 99, this phasewalk reads up to {SCHEMA_VERSION}; use the newer phasewalk"
    )


@pytest.mark.spec("LOG-04")
@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
def test_what_is_no_database_is_refused(path: Path, opening):
    path.write_text("dear diary, " * 500)
    with pytest.raises(UnreadableLogError, match=r"log\.db: file is not a database"):
        opening(path)
    assert path.read_text().startswith("dear diary")


@pytest.mark.spec("LOG-04")
@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
def test_the_database_of_another_application_is_refused_and_left_alone(path: Path, opening):
    change(path, "CREATE TABLE song (title TEXT)")
    before = path.read_bytes()
    with pytest.raises(UnreadableLogError, match=r"log\.db: an SQLite database, but not a phasewalk log"):
        opening(path)
    assert path.read_bytes() == before


@pytest.mark.spec("OPS-15")
def test_reading_a_file_that_is_not_there_says_what_makes_it(path: Path):
    with pytest.raises(
        UnreadableLogError, match="no such file; a run of 'phasewalk feed' or 'phasewalk turn' makes it"
    ):
        open_for_reading(path)
    assert not path.exists()


@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
def test_a_folder_is_no_log(tmp_path: Path, opening):
    with pytest.raises(StorageError, match="cannot be opened for reading"):
        opening(tmp_path)


def test_writing_below_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(StorageError, match=r"cannot be written .*; a writable folder is needed"):
        open_for_writing(tmp_path / "missing" / "log.db")


@pytest.mark.spec("OPS-15")
def test_a_reading_connection_cannot_write(path: Path):
    connection = open_for_reading(made(path))
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM reason")
    connection.close()


def as_nobody(path: Path, function: str) -> str:
    """Open `path` as somebody who may not write there; what that printed. Needs root, who may write anywhere."""
    code = f"""
import os, sys
from pathlib import Path
from phasewalk.storage.database import open_for_reading, open_for_writing
import phasewalk.storage.migrations
os.setgid(65534); os.setuid(65534)
try:
    connection = {function}(Path(sys.argv[1]))
    print(connection.execute("SELECT count(*) FROM reason WHERE code = 'ok'").fetchone()[0])
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def locked_folder(tmp_path_factory: pytest.TempPathFactory):
    """A folder that everybody may look into and only its owner may write to."""
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@needs_root
@pytest.mark.spec("OPS-15")
def test_a_log_in_a_read_only_folder_can_be_read(locked_folder: Path):
    assert as_nobody(made(locked_folder / "log.db"), "open_for_reading") == "1"


@needs_root
@pytest.mark.spec("OPS-15")
@pytest.mark.parametrize("new", [True, False])
def test_writing_in_a_read_only_folder_is_refused_in_one_sentence(locked_folder: Path, new: bool):
    path = locked_folder / "log.db"
    if not new:
        made(path)
    said = as_nobody(path, "open_for_writing")
    assert said.startswith(f"StorageError {path}: cannot be written (")
    assert said.endswith("a writable folder is needed")


@pytest.mark.spec("LOG-04")
def test_an_older_file_is_copied_aside_whole_and_then_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch):
    writing = open_for_writing(path)
    writing.execute("INSERT INTO contract (hash, body, first_seen_us) VALUES ('only in the WAL', '{}', 1)")
    monkeypatch.setattr(database, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    open_for_writing(path).close()
    writing.close()
    aside = path.with_name(f"log.db.v{SCHEMA_VERSION}.bak")
    assert (pragma(aside, "user_version"), pragma(path, "user_version")) == (SCHEMA_VERSION, SCHEMA_VERSION + 1)
    for file in (aside, path):
        connection = sqlite3.connect(file)
        assert connection.execute("SELECT hash FROM contract").fetchall() == [("only in the WAL",)]
        connection.close()


@pytest.mark.spec("LOG-04")
def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(_connection: sqlite3.Connection) -> None:
        raise RuntimeError("a fault in a migration")

    monkeypatch.setattr(migrations, "fill_reasons", fail)
    with pytest.raises(RuntimeError, match="a fault in a migration"):
        open_for_writing(path)
    monkeypatch.undo()
    assert pragma(path, "user_version") == 0
    assert pragma(made(path), "user_version") == SCHEMA_VERSION


@pytest.mark.spec("LOG-04")
def test_a_migration_learns_new_reasons_and_keeps_the_old(path: Path):
    change(
        made(path), "UPDATE reason SET meaning = 'old' WHERE code = 'ok'", "DELETE FROM reason WHERE code = 'paused'"
    )
    connection = sqlite3.connect(path)
    migrations.fill_reasons(connection)
    assert connection.execute("SELECT count(*) FROM reason WHERE meaning = 'old'").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM reason WHERE code = 'paused'").fetchone() == (1,)
    connection.close()


@pytest.mark.spec("LOG-04", "LOG-14")
def test_processes_that_make_the_file_at_the_same_moment_all_get_it(path: Path):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate() for process in started]
    assert said == [("1\n", "")] * 4


@pytest.mark.spec("LOG-02")
def test_an_sqlite_without_foreign_keys_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch):
    made(path)

    class Without(sqlite3.Connection):
        def execute(self, sql: str, *values: object):
            return super().execute("SELECT 0" if sql == "PRAGMA foreign_keys" else sql, *values)

    connect = sqlite3.connect
    monkeypatch.setattr(database.sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Without))
    with pytest.raises(StorageError, match="this SQLite is built without foreign keys; phasewalk needs them"):
        open_for_writing(path)


def test_this_process_lives_and_a_dead_one_or_another_of_its_number_does_not():
    own = os.getpid()
    assert is_alive(own, started_mark(own)) is True
    assert is_alive(own, "") is True
    assert is_alive(own, "1") is False
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert is_alive(ended.pid, "") is False
    assert started_mark(ended.pid) == ""


def test_a_process_of_somebody_else_lives(monkeypatch: pytest.MonkeyPatch):
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert is_alive(os.getpid(), started_mark(os.getpid())) is True


@pytest.mark.spec("LOG-03", "LOG-04")
@pytest.mark.parametrize("new", [True, False])
def test_a_place_where_no_wal_can_be_made_is_refused_in_one_sentence(path: Path, new: bool):
    if not new:
        made(path)
    path.with_name("log.db-wal").mkdir()
    with pytest.raises(StorageError, match=r"log\.db: cannot be written \(.*\); a writable folder is needed"):
        open_for_writing(path)


@pytest.mark.spec("LOG-04")
@pytest.mark.parametrize("opening", [open_for_writing, open_for_reading])
def test_a_damaged_file_is_refused(path: Path, opening):
    content = bytearray(made(path).read_bytes())
    content[100:4000] = b"\xff" * 3900
    path.write_bytes(content)
    with pytest.raises(UnreadableLogError, match="malformed"):
        opening(path)


def test_a_file_that_another_process_is_making_is_waited_for(path: Path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    release = threading.Timer(0.1, other.close)
    release.start()
    assert pragma(made(path), "user_version") == SCHEMA_VERSION
    release.join()


def test_a_file_that_stays_locked_is_refused_after_the_patience(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "PATIENCE", 0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageError, match=r"cannot be written \(database is locked\)"):
        open_for_writing(path)
    other.close()
