"""Which turns one looks at first: what matters most, one of each failure, the longest (OPS-20)."""

import pytest
from builders import LogBuilder

from phasewalk.storage.worst import Worst, worst_turns


def worst(builder: LogBuilder, *, stuck: tuple[str, ...] = (), limit: int = 20, since: float = 3600.0) -> list[Worst]:
    return worst_turns(builder.log, builder.at(since), None, stuck=stuck, limit=limit)


def answered(builder: LogBuilder, took: float, age: float = 60.0) -> str:
    turn = builder.turn(age=age, took=took)
    builder.effect(turn, "answer", "general", "receipt", {"text": "hello"})
    return turn


def noticed(builder: LogBuilder, took: float, **columns: object) -> str:
    turn = builder.turn(took=took, **{"outcome": "stopped", "reason": "http_5xx", **columns})
    builder.effect(turn, "notice", "general", "receipt", {"text": "sorry"})
    return turn


@pytest.mark.spec("OPS-20")
def test_what_matters_most_stands_first(builder: LogBuilder):
    """Stuck, in doubt, got nothing, failed, and then the longest of those that ended well."""
    short, long = answered(builder, 1), answered(builder, 9)
    failed = noticed(builder, 5)
    nothing = builder.turn(outcome="stopped", reason="http_5xx", took=1)
    doubtful = builder.turn(outcome="expired", reason="deadline_passed", took=1)
    builder.effect(doubtful, "answer", "general", None, {"text": "hello"})
    still = builder.turn(outcome=None, phase="model_attempt")
    assert [(w.turn_id, w.because) for w in worst(builder, stuck=(still,))] == [
        (still, "stuck"), (doubtful, "in_doubt"), (nothing, "got_nothing"), (failed, "failed"), (long, "long"), (short, "long"),
    ]  # fmt: skip


@pytest.mark.spec("OPS-20")
def test_one_of_each_failure_comes_before_a_second_of_the_same(builder: LogBuilder):
    """The commonest failure first, of each the longest, and how many are alike."""
    common = [noticed(builder, took) for took in (1, 3, 2)]
    rare = noticed(builder, 9, reason="timed_out")
    assert worst(builder) == [
        Worst(common[1], "failed", 3), Worst(rare, "failed", 1), Worst(common[2], "failed", 3), Worst(common[0], "failed", 3),
    ]  # fmt: skip


@pytest.mark.spec("OPS-20")
def test_another_failure_comes_before_a_second_one_of_what_matters_more(builder: LogBuilder):
    """Two people got nothing for one cause: the second of them stands behind a turn that failed otherwise."""
    nothing = [builder.turn(outcome="stopped", reason="http_5xx", took=took) for took in (2, 1)]
    failed = noticed(builder, 1, reason="timed_out")
    assert [w.turn_id for w in worst(builder)] == [nothing[0], failed, nothing[1]]


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize("differs", [{"reason": "timed_out"}, {"phase": "deliver"}, {"first_reason": "http_429"}, {"outcome": "partial"}], ids=str)  # fmt: skip
def test_failures_are_distinct_by_any_of_their_four_parts(builder: LogBuilder, differs):
    """Outcome, reason, phase and first failure."""
    noticed(builder, 3)
    noticed(builder, 2)
    other = noticed(builder, 1, **differs)
    assert worst(builder)[1].turn_id == other


@pytest.mark.spec("OPS-20")
def test_turns_of_other_periods_and_turns_that_still_run_are_left_out(builder: LogBuilder):
    """A stuck turn counts whenever it began; a running one that moves counts not at all."""
    noticed(builder, 1, age=7200)
    builder.turn(outcome=None, phase="model_attempt")
    still = builder.turn(age=7200, outcome=None, phase="model_attempt")
    assert worst(builder, stuck=(still,)) == [Worst(still, "stuck", 1)]


@pytest.mark.spec("OPS-20")
def test_the_order_is_total(builder: LogBuilder):
    """Turns that are alike in everything stand in the order of their ids, and the limit cuts the end."""
    turns = [noticed(builder, 1) for _ in range(5)]
    assert [w.turn_id for w in worst(builder, limit=3)] == sorted(turns)[:3]


@pytest.mark.spec("OPS-20")
def test_a_period_ends_before_its_end(builder: LogBuilder):
    """A turn that begins at the end is of the next period."""
    turn = noticed(builder, 1)
    end = builder.at(60)
    assert worst_turns(builder.log, 0, end, stuck=(), limit=5) == []
    assert [w.turn_id for w in worst_turns(builder.log, 0, end + 1, stuck=(), limit=5)] == [turn]
