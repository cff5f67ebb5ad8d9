"""A log in memory for a turn that is walked again."""

import sqlite3

import pytest

from phasewalk.machine.deadlines import Commit, SystemClock
from phasewalk.machine.errors import LeaseLostError, RowRefusedError
from phasewalk.storage.scratch_log import ScratchLog
from phasewalk.storage.writer import Unit, Work

ADD = "INSERT INTO circuit (provider) VALUES ('one')"


def written(scratch: ScratchLog, work: Work, *, durable: bool = False) -> Commit:
    commit = Commit()
    scratch.submit(Unit(work, commit, durable))
    return commit


def count(scratch: ScratchLog) -> int:
    return scratch.connection.execute("SELECT count(*) FROM circuit").fetchone()[0]


def begun() -> ScratchLog:
    scratch = ScratchLog()
    scratch.begin(SystemClock(), str)
    return scratch


@pytest.mark.spec("OPS-15")
def test_each_turn_begins_with_an_empty_log():
    scratch = begun()
    assert written(scratch, lambda log: log.execute(ADD)).exception() is None
    assert count(scratch) == 1
    scratch.begin(SystemClock(), str)
    assert count(scratch) == 0


@pytest.mark.spec("TURN-13", "OPS-13")
def test_once_it_is_closed_the_walk_has_lost_its_lease_and_nothing_is_written():
    scratch = begun()
    scratch.close("the record ends here")
    scratch.close("something else")
    commit = written(scratch, lambda log: log.execute(ADD))
    with pytest.raises(LeaseLostError, match="the record ends here"):
        commit.result()
    assert count(scratch) == 0


@pytest.mark.spec("LOG-03")
def test_a_unit_that_is_refused_leaves_nothing():
    scratch = begun()

    def work(log: sqlite3.Connection) -> None:
        log.execute(ADD)
        log.execute(ADD)

    with pytest.raises(RowRefusedError, match="UNIQUE"):
        written(scratch, work).result()
    assert count(scratch) == 0
