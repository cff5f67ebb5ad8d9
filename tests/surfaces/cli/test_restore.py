"""`phasewalk restore`: checks before it replaces, and says in one sentence what stands in the way."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from builders import GONE, LogBuilder


@pytest.fixture
def copy(builder: LogBuilder, look, tmp_path: Path) -> Path:
    """A copy of a log whose process is gone and which nobody has open."""
    builder.process(pid=GONE)
    builder.turns(2)
    target = tmp_path / "copy.db"
    assert look("backup", str(target)).status == 0
    builder.close()
    return target


@pytest.mark.spec("LOG-13")
def test_the_copy_takes_the_place_and_the_log_before_is_named(builder: LogBuilder, look, copy: Path):
    answer = look("restore", str(copy))
    assert answer.status == 0
    first, second, third = answer.lines
    assert first == f"{builder.path}: 2 turns, from {copy}, whole, no dangling rows"
    aside = Path(second.removeprefix("the log before is kept as "))
    assert aside.exists()
    assert third == "next: phasewalk status"
    with closing(sqlite3.connect(builder.path)) as log:
        assert log.execute("SELECT what, target FROM operator_action").fetchall() == [("restore the log", "copy.db")]


@pytest.mark.spec("LOG-13")
def test_a_check_only_checks(builder: LogBuilder, look, copy: Path):
    before = builder.path.read_bytes()
    answer = look("restore", str(copy), "--check")
    assert (answer.status, answer.out) == (
        0, f"{copy}: 2 turns, whole, no dangling rows; nothing was replaced\n",
    )  # fmt: skip
    assert builder.path.read_bytes() == before


@pytest.mark.spec("OPS-13")
def test_a_missing_copy_is_status_3_and_the_log_itself_no_copy(builder: LogBuilder, look, copy: Path):
    answer = look("restore", str(copy) + ".typo")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err.endswith("no such file; a copy that 'phasewalk backup' made is expected\n")
    assert look("restore", str(builder.path)).status == 2


@pytest.mark.spec("LOG-13", "OPS-13")
@pytest.mark.parametrize("damage", ["no database", "dangling", "newer", "folder"])
def test_what_is_no_whole_log_is_one_sentence_and_replaces_nothing(builder: LogBuilder, look, copy: Path, damage: str):
    if damage == "no database":
        copy.write_text("dear diary " * 500)
    elif damage == "folder":
        copy.unlink()
        copy.mkdir()
    else:
        with closing(sqlite3.connect(copy, isolation_level=None)) as log:
            log.execute("PRAGMA user_version = 99" if damage == "newer" else "DELETE FROM process")
    before = builder.path.read_bytes()
    answer = look("restore", str(copy))
    assert (answer.status, answer.out, len(answer.err.splitlines())) == (4, "", 1)
    assert answer.err.endswith("; nothing was replaced\n")
    assert builder.path.read_bytes() == before


@pytest.mark.spec("LOG-13")
def test_without_a_log_the_copy_becomes_it(builder: LogBuilder, look, copy: Path):
    builder.path.unlink()
    answer = look("restore", str(copy))
    assert answer.status == 0
    assert [line for line in answer.lines if "kept" in line] == []
    assert look("list", "--json").status == 0


@pytest.mark.spec("LOG-13", "OPS-13")
def test_a_live_process_stands_in_the_way(builder: LogBuilder, look, tmp_path: Path):
    builder.turn()
    look("backup", str(tmp_path / "copy.db"))
    builder.close()
    answer = look("restore", str(tmp_path / "copy.db"))
    assert answer.status == 4
    assert answer.err.endswith("(bot) writes this log; stop it first; nothing was replaced\n")
