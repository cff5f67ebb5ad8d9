"""Changes of operators: each stands with its audit row in one transaction, or not at all."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from builders import LogBuilder

from phasewalk.machine.documents import NotStorableError
from phasewalk.machine.errors import SchemaVersionError, StorageError, UnreadableLogError
from phasewalk.storage import operators
from phasewalk.storage.circuits import reset
from phasewalk.storage.database import SCHEMA_VERSION
from phasewalk.storage.operators import Action, change

RESET = Action(who="eve", what="reset a circuit", target="one", before="open", after="closed")


@pytest.fixture
def path(builder: LogBuilder) -> Path:
    """A log in which the circuit of `one` is open."""
    builder.insert("circuit", provider="one", opened_us=10, open_until_us=20)
    return builder.path


def close_circuit(connection: sqlite3.Connection, now_us: int) -> Action | None:
    return RESET if reset(connection, "one", now_us) else None


def rows(path: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def state(path: Path) -> tuple[list[tuple], int]:
    """When the circuit was opened, and how many audit rows there are."""
    return rows(path, "SELECT opened_us FROM circuit"), rows(path, "SELECT count(*) FROM operator_action")[0][0]


@pytest.mark.spec("LOG-15")
def test_a_change_and_its_row_are_committed_together(path: Path):
    assert change(path, close_circuit) == RESET
    assert state(path) == ([(None,)], 1)


@pytest.mark.spec("LOG-15")
def test_the_row_says_who_did_what_to_what_and_how_that_stood_before_and_after(path: Path):
    change(path, close_circuit)
    assert rows(path, "SELECT who, what, target, before, after FROM operator_action") == [
        ("eve", "reset a circuit", "one", '"open"', '"closed"'),
    ]  # fmt: skip


@pytest.mark.spec("LOG-15")
def test_before_and_after_may_be_anything_that_json_can_hold(path: Path):
    change(path, lambda *_: Action("eve", "permit a call", "7KQ2MX", None, {"tool": "role_add", "user_id": "77"}))
    assert rows(path, "SELECT before, after FROM operator_action") == [
        ("null", '{"tool":"role_add","user_id":"77"}'),
    ]  # fmt: skip


@pytest.mark.spec("LOG-15")
def test_the_row_has_the_time_that_the_change_was_given(path: Path):
    begun = time.time_ns() // 1000
    given: list[int] = []

    def work(connection: sqlite3.Connection, now_us: int) -> Action | None:
        given.append(now_us)
        return close_circuit(connection, now_us)

    change(path, work)
    assert rows(path, "SELECT at_us FROM operator_action") == [(given[0],)]
    assert begun <= given[0] <= time.time_ns() // 1000


@pytest.mark.spec("LOG-15")
def test_what_changes_nothing_leaves_no_row(path: Path):
    assert change(path, lambda connection, now_us: None) is None
    assert state(path) == ([(10,)], 0)


@pytest.mark.spec("LOG-15")
def test_a_change_that_fails_midway_is_taken_back_and_leaves_no_row(path: Path):
    def work(connection: sqlite3.Connection, now_us: int) -> Action | None:
        close_circuit(connection, now_us)
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        change(path, work)
    assert state(path) == ([(10,)], 0)


@pytest.mark.spec("LOG-15")
def test_a_change_that_is_interrupted_is_taken_back(path: Path):
    def work(connection: sqlite3.Connection, now_us: int) -> Action | None:
        close_circuit(connection, now_us)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        change(path, work)
    assert state(path) == ([(10,)], 0)


@pytest.mark.spec("LOG-15")
def test_a_change_whose_row_cannot_be_written_is_taken_back(path: Path):
    def work(connection: sqlite3.Connection, now_us: int) -> Action | None:
        close_circuit(connection, now_us)
        return Action("eve", "reset a circuit", "one", object(), "closed")

    with pytest.raises(NotStorableError, match="object cannot be stored"):
        change(path, work)
    assert state(path) == ([(10,)], 0)


@pytest.mark.spec("LOG-15")
def test_a_row_that_the_file_refuses_takes_its_change_back(path: Path):
    def work(connection: sqlite3.Connection, now_us: int) -> Action | None:
        close_circuit(connection, now_us)
        return Action("eve", "reset a circuit", None, "open", "closed")  # type: ignore[arg-type]

    with pytest.raises(sqlite3.IntegrityError, match=r"operator_action\.target"):
        change(path, work)
    assert state(path) == ([(10,)], 0)


@pytest.mark.spec("LOG-15")
def test_nobody_sees_a_change_before_its_row(path: Path):
    seen: list[tuple] = []

    def work(connection: sqlite3.Connection, now_us: int) -> Action | None:
        action = close_circuit(connection, now_us)
        seen.append(state(path))
        return action

    change(path, work)
    assert seen == [([(10,)], 0)]


@pytest.mark.spec("LOG-15")
def test_nobody_else_writes_between_the_look_and_the_change(path: Path):
    def work(connection: sqlite3.Connection, now_us: int) -> Action | None:
        with closing(sqlite3.connect(path, timeout=0.0)) as other, pytest.raises(sqlite3.OperationalError):
            other.execute("UPDATE circuit SET opened_us = 15")
        return close_circuit(connection, now_us)

    assert change(path, work) == RESET


@pytest.mark.spec("LOG-15")
def test_a_change_survives_a_power_cut(path: Path):
    durability: list[int] = []

    def work(connection: sqlite3.Connection, now_us: int) -> Action | None:
        durability.append(connection.execute("PRAGMA synchronous").fetchone()[0])
        return close_circuit(connection, now_us)

    change(path, work)
    assert durability == [2]


@pytest.mark.spec("LOG-15")
def test_a_file_that_stays_locked_is_an_error_and_nothing_is_changed(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(operators, "PATIENCE_MS", 20)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            change(path, close_circuit)
    assert state(path) == ([(10,)], 0)


@pytest.mark.spec("LOG-15")
def test_a_file_that_is_no_log_is_refused(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("this is no database, though it is long enough to be one\n" * 100, "utf-8")
    with pytest.raises(UnreadableLogError, match=r"notes\.txt"):
        change(tmp_path / "notes.txt", close_circuit)


@pytest.mark.spec("LOG-15")
def test_a_log_of_a_newer_version_is_refused(path: Path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(SchemaVersionError):
        change(path, close_circuit)


@pytest.mark.spec("LOG-15")
def test_a_folder_that_is_not_there_is_one_error(tmp_path: Path):
    with pytest.raises(StorageError, match="cannot be written"):
        change(tmp_path / "nowhere" / "log.db", close_circuit)
