"""Copies of the log, and putting one in its place: on real files, beside real processes (LOG-13)."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from builders import GONE, LogBuilder

from phasewalk.machine.errors import SchemaVersionError, StorageError, UnreadableLogError
from phasewalk.storage import backup as backup_module
from phasewalk.storage.backup import InUseError, backup, restore
from phasewalk.storage.database import SCHEMA_VERSION, open_for_reading, open_for_writing
from phasewalk.storage.search import take_in


def dump(path: Path) -> dict[str, list[tuple]]:
    """Every row of every table, and the schema."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
        names = [name for (name,) in log.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: log.execute(f'SELECT * FROM "{name}"').fetchall() for name in names if name != "message_index"}
        return {**rows, "schema": log.execute("SELECT type, name, sql FROM sqlite_master").fetchall()}


def count(path: Path, table: str = "turn") -> int:
    with closing(sqlite3.connect(path)) as log:
        return log.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


@pytest.fixture
def stopped(builder: LogBuilder) -> Path:
    """A log that nobody has open: turns with messages, by a process that is gone."""
    builder.process(pid=GONE)
    for turn in builder.turns(5, text="a question"):
        builder.insert("message", turn_id=turn, channel_id="200", role="user", author_id="77", author="mira", text="the brass key", at_us=1)  # fmt: skip
    take_in(builder.log)
    builder.close()
    return builder.path


@pytest.mark.spec("LOG-13")
def test_a_copy_holds_every_row_also_those_in_the_wal(builder: LogBuilder, target: Path):
    builder.turns(3)
    covered = backup(builder.path, target)
    assert covered.turns == 3
    assert dump(target) == dump(builder.path)
    assert sorted(p.name for p in target.parent.glob("copy*")) == ["copy.db"]


@pytest.mark.spec("LOG-13", "LOG-14")
def test_a_copy_is_made_while_somebody_writes_and_holds_what_was_committed(builder: LogBuilder, target: Path):
    builder.turn()
    builder.log.execute("BEGIN IMMEDIATE")
    builder.turn()
    assert backup(builder.path, target).turns == 1
    builder.log.execute("COMMIT")
    assert (count(target), count(builder.path)) == (1, 2)


@pytest.mark.spec("LOG-13", "LOG-14")
def test_copies_beside_a_steady_writer_are_each_of_one_moment_and_hold_it_up_nowhere(
    builder: LogBuilder, tmp_path: Path
):
    stop, errors = threading.Event(), []

    def write() -> None:
        with closing(open_for_writing(builder.path)) as log:
            while not stop.is_set():
                try:
                    log.execute("BEGIN IMMEDIATE")
                    log.execute("INSERT INTO prune_log (at_us, what, rows) VALUES (1, 'a', 1)")
                    log.execute("INSERT INTO log_loss (at_us, rows, what) VALUES (1, 1, 'b')")
                    log.execute("COMMIT")
                except sqlite3.Error as error:
                    errors.append(error)

    builder.turns(200)
    builder.process(ended="done")
    writing = threading.Thread(target=write)
    writing.start()
    copies = [tmp_path / f"copy{n}.db" for n in range(5)]
    for copy in copies:
        backup(builder.path, copy)
    stop.set()
    writing.join()
    assert errors == []
    halves = [(count(copy, "prune_log"), count(copy, "log_loss")) for copy in copies]
    assert all(a == b for a, b in halves)
    assert halves[-1] > halves[0]


@pytest.mark.spec("LOG-13")
def test_the_drill_a_log_is_copied_lost_and_comes_back_row_by_row(stopped: Path, target: Path):
    before = dump(stopped)
    backup(stopped, target)
    stopped.unlink()
    covered, aside = restore(stopped, target, "eve")
    after = dump(stopped)
    assert (covered.turns, aside) == (5, None)
    audit = after["operator_action"]
    assert [row[2:5] for row in audit] == [("eve", "restore the log", "copy.db")]
    assert {**after, "operator_action": []} == before
    with closing(open_for_writing(stopped)) as log:  # and it goes on
        log.execute("INSERT INTO log_loss (at_us, rows, what) VALUES (1, 1, 'x')")
        assert log.execute("SELECT rowid FROM message_index WHERE message_index MATCH '\"bra\"'").fetchall() != []


@pytest.mark.spec("LOG-13")
def test_the_file_before_is_kept_whole_beside(stopped: Path, target: Path):
    backup(stopped, target)
    with closing(open_for_writing(stopped)) as log:
        log.execute("INSERT INTO log_loss (at_us, rows, what) VALUES (1, 1, 'after the copy')")
    later = dump(stopped)
    _, aside = restore(stopped, target, "eve")
    assert aside is not None
    assert dump(aside) == later
    assert (count(stopped, "log_loss"), count(aside, "log_loss")) == (0, 1)
    _, second = restore(stopped, target, "eve")
    assert second not in (None, aside)
    assert sorted(p.name for p in stopped.parent.glob(f"{stopped.name}*")) == sorted(
        [stopped.name, aside.name, second.name]
    )


@pytest.mark.spec("LOG-15")
def test_the_audit_row_tells_what_both_logs_covered(stopped: Path, target: Path):
    backup(stopped, target)
    restore(stopped, target, "eve")
    with closing(open_for_reading(stopped)) as log:
        query = "SELECT who, json_extract(before, '$.turns'), json_extract(after, '$.turns') FROM operator_action"
        assert log.execute(query).fetchall() == [("eve", 5, 5)]


@pytest.mark.spec("LOG-13")
def test_a_check_replaces_nothing(stopped: Path, target: Path):
    backup(stopped, target)
    before = stopped.read_bytes()
    assert restore(stopped, target, "eve", only_check=True)[0].turns == 5
    assert stopped.read_bytes() == before
    assert list(stopped.parent.glob("*.before")) == []


@pytest.mark.spec("LOG-04", "LOG-13")
def test_an_older_copy_is_brought_up_to_date_and_stays_itself_as_it_is(stopped: Path, target: Path):
    from importlib.resources import files

    with closing(sqlite3.connect(target, isolation_level=None)) as old:
        for script in ("schema.sql", "views.sql"):
            old.executescript(files("phasewalk.storage").joinpath(script).read_text("utf-8"))
        old.execute("CREATE TABLE _sqlite_migrations (migration_set TEXT, name TEXT, applied_at TEXT, PRIMARY KEY (migration_set, name))")  # fmt: skip
        old.execute("INSERT INTO _sqlite_migrations VALUES ('phasewalk', '0001_the_log', '2026-11-30')")
        old.execute(f"PRAGMA application_id = {0x70687361}")
        old.execute("PRAGMA user_version = 1")
    before = target.read_bytes()
    restore(stopped, target, "eve")
    assert target.read_bytes() == before
    with closing(sqlite3.connect(stopped)) as log:
        assert log.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert [p.name for p in stopped.parent.iterdir() if "restoring" in p.name] == []


def left_alone(stopped: Path, source: Path, error: type[Exception], sentence: str, who: str = "eve") -> None:
    before = stopped.read_bytes()
    with pytest.raises(error, match=sentence):
        restore(stopped, source, who)
    assert stopped.read_bytes() == before
    assert [p.name for p in stopped.parent.iterdir() if "restoring" in p.name or ".before" in p.name] == []


@pytest.mark.spec("LOG-13")
def test_dangling_rows_are_refused(stopped: Path, target: Path):
    backup(stopped, target)
    with closing(sqlite3.connect(target, isolation_level=None)) as log:
        log.execute("INSERT INTO attempt (turn_id, n, cause, provider, model, api, status, started_us) VALUES ('nobody', 1, 'first', 'a', 'b', 'chat', 'running', 1)")  # fmt: skip
    left_alone(stopped, target, UnreadableLogError, r"copy\.db: 1 dangling rows \(attempt without turn\)")


@pytest.mark.spec("LOG-13")
def test_a_damaged_copy_is_refused(stopped: Path, target: Path):
    with closing(open_for_writing(stopped)) as log:
        log.execute("INSERT INTO log_loss (at_us, rows, what) VALUES (1, 1, ?)", ("x" * 100_000,))
    backup(stopped, target)
    data = bytearray(target.read_bytes())
    data[-40_000:] = b"\xff" * 40_000
    target.write_bytes(data)
    left_alone(stopped, target, UnreadableLogError, r"copy\.db: damaged: ")


@pytest.mark.spec("LOG-13")
def test_a_copy_that_was_cut_off_is_refused(stopped: Path, target: Path):
    backup(stopped, target)
    data = target.read_bytes()
    target.write_bytes(data[: len(data) // 2])
    left_alone(stopped, target, UnreadableLogError, r"copy\.db: ")


@pytest.mark.spec("LOG-13")
def test_what_is_no_log_or_of_a_newer_version_is_refused(stopped: Path, target: Path, tmp_path: Path):
    target.write_text("dear diary, " * 500)
    left_alone(stopped, target, UnreadableLogError, "file is not a database")
    target.unlink()
    backup(stopped, target)
    with closing(sqlite3.connect(target)) as log:
        log.execute("PRAGMA user_version = 99")
    left_alone(stopped, target, SchemaVersionError, "written with schema version 99")
    left_alone(stopped, tmp_path / "missing.db", UnreadableLogError, "no such file")


@pytest.mark.spec("LOG-13")
def test_a_log_that_a_live_process_writes_is_not_replaced(builder: LogBuilder, target: Path):
    builder.process(command="bot")
    builder.turn()
    backup(builder.path, target)
    builder.log.execute("PRAGMA journal_mode = DELETE")
    builder.close()
    left_alone(builder.path, target, InUseError, rf"process {os.getpid()} on .* \(bot\) writes this log; stop it first")


@pytest.mark.spec("LOG-13")
@pytest.mark.parametrize(("silent", "refused"), [(10.0, True), (1000.0, False)])
def test_a_process_of_another_host_counts_while_it_gives_signs_of_life(
    builder: LogBuilder, target: Path, silent, refused
):
    builder.process(pid=GONE, host="elsewhere", silent=silent)
    builder.turn()
    backup(builder.path, target)
    builder.close()
    if refused:
        left_alone(builder.path, target, InUseError, f"process {GONE} on elsewhere")
    else:
        assert restore(builder.path, target, "eve")[0].turns == 1


@pytest.mark.spec("LOG-13")
def test_a_log_that_somebody_has_open_is_not_replaced(stopped: Path, target: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backup_module, "PATIENCE_MS", 50)
    backup(stopped, target)
    code = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1])\nc.execute('SELECT count(*) FROM turn').fetchone()\nprint('open', flush=True)\nsys.stdin.read()"  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", code, str(stopped)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdin is not None
        assert reader.stdout.readline() == "open\n"
        left_alone(stopped, target, InUseError, "another process has the log open; end it first")
        reader.stdin.close()
    assert restore(stopped, target, "eve")[0].turns == 5


@pytest.mark.spec("LOG-13")
def test_nobody_writes_the_old_file_while_it_is_replaced(stopped: Path, target: Path, monkeypatch: pytest.MonkeyPatch):
    backup(stopped, target)
    put_aside, said = backup_module._put_aside, []

    def try_to_write(path: Path) -> Path | None:
        with closing(sqlite3.connect(path, timeout=0)) as other:
            try:
                other.execute("INSERT INTO log_loss (at_us, rows, what) VALUES (1, 1, 'lost')")
            except sqlite3.OperationalError as error:
                said.append(str(error))
        return put_aside(path)

    monkeypatch.setattr(backup_module, "_put_aside", try_to_write)
    restore(stopped, target, "eve")
    assert said == ["database is locked"]


@pytest.mark.spec("LOG-13")
def test_a_log_that_cannot_be_read_any_more_is_replaced_and_kept(stopped: Path, target: Path):
    backup(stopped, target)
    stopped.write_bytes(b"\xff" * 5000)
    stopped.with_name(stopped.name + "-wal").write_bytes(b"torn")
    covered, aside = restore(stopped, target, "eve")
    assert aside is not None
    assert (covered.turns, aside.read_bytes()) == (5, b"\xff" * 5000)
    assert aside.with_name(aside.name + "-wal").read_bytes() == b"torn"
    assert count(stopped) == 5


@pytest.mark.spec("LOG-13")
def test_a_copy_never_replaces_a_file(builder: LogBuilder, target: Path):
    target.write_text("mine")
    with pytest.raises(StorageError, match="exists already; a new name is expected"):
        backup(builder.path, target)
    assert target.read_text() == "mine"
    assert not target.with_name("copy.db.part").exists()


@pytest.mark.spec("LOG-13")
def test_file_systems_without_links_are_served_too(stopped: Path, target: Path, monkeypatch: pytest.MonkeyPatch):
    def link(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", link)
    backup(stopped, target)
    assert restore(stopped, target, "eve")[0].turns == 5
    assert len(list(stopped.parent.glob("*.before"))) == 1


def test_a_copy_into_a_folder_that_is_not_there_is_refused(builder: LogBuilder, tmp_path: Path):
    with pytest.raises(StorageError, match=r"cannot be copied to .*copy\.db"):
        backup(builder.path, tmp_path / "missing" / "copy.db")


@pytest.mark.spec("LOG-13")
def test_a_log_that_is_damaged_makes_no_copy(stopped: Path, target: Path):
    with closing(open_for_writing(stopped)) as log:
        log.execute("INSERT INTO log_loss (at_us, rows, what) VALUES (1, 1, ?)", ("x" * 100_000,))
    data = bytearray(stopped.read_bytes())
    data[-40_000:] = b"\xff" * 40_000
    stopped.write_bytes(data)
    with pytest.raises(UnreadableLogError, match="damaged"):
        backup(stopped, target)
    assert not target.exists()
