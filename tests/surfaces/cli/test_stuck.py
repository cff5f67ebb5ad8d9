"""`phasewalk stuck`: what is not moving, and by which rule."""

import re
import socket

import pytest
from builders import GONE, LogBuilder

from phasewalk.surfaces.cli.stuck import rule_of
from phasewalk.surfaces.cli.times import zone_of


def hanging(builder: LogBuilder, *, entered: float = 20.0, budget_ms: int | None = 360_000, **columns: object) -> str:
    """A running turn that entered model_attempt so many seconds after its start, an hour's deadline ahead."""
    given = {"age": 60.0, "deadline_us": builder.at(-3600), **columns}
    turn = builder.turn(outcome=None, phase="model_attempt", **given)
    builder.enter(turn, "model_attempt", entered, budget_ms=budget_ms)
    return turn


def found(answer) -> list[tuple[str, str]]:
    return [(item["turn_id"], item["rule"]) for item in answer.items]


@pytest.mark.spec("LOG-06")
def test_a_turn_of_a_process_that_is_gone_from_this_host(builder: LogBuilder, look):
    builder.process(pid=GONE)
    turn = hanging(builder)
    answer = look("stuck", "--json")
    assert (answer.status, found(answer)) == (1, [(turn, "process_gone")])


def test_a_turn_of_a_process_that_ended_without_ending_it(builder: LogBuilder, look):
    builder.process(ended="finished", host="elsewhere")
    turn = hanging(builder)
    assert found(look("stuck", "--json")) == [(turn, "process_gone")]


def test_a_gone_process_outweighs_what_else_could_be_said(builder: LogBuilder, look):
    builder.process(pid=GONE, silent=900)
    turn = hanging(builder, deadline_us=builder.at(500))
    assert found(look("stuck", "--json")) == [(turn, "process_gone")]


def test_a_process_of_another_host_is_judged_by_its_sign_of_life_alone(builder: LogBuilder, look):
    builder.process(pid=GONE, host="elsewhere", silent=100)
    hanging(builder)
    assert look("stuck").status == 0
    builder.process(pid=GONE, host="elsewhere-too", silent=400)
    turn = hanging(builder)
    (item,) = look("stuck", "--json").items
    assert (item["turn_id"], item["rule"], item["threshold"]) == (turn, "heartbeat_lost", 180.0)
    assert 400 <= item["value"] < 460


def test_a_turn_past_its_deadline(builder: LogBuilder, look):
    turn = hanging(builder, deadline_us=builder.at(100))
    (item,) = look("stuck", "--json").items
    assert (item["turn_id"], item["rule"], item["threshold"]) == (turn, "deadline_passed", 35.0)
    assert 100 <= item["value"] < 160


def test_a_phase_over_its_budget(builder: LogBuilder, look):
    turn = hanging(builder, age=500, entered=0, budget_ms=300_000)
    assert found(look("stuck", "--json")) == [(turn, "phase_over_budget")]


@pytest.mark.spec("OPS-13")
def test_a_turn_that_runs_and_one_that_ended_are_not_stuck(builder: LogBuilder, look):
    hanging(builder)
    builder.process(pid=GONE)
    builder.turn()
    answer = look("stuck")
    assert answer.status == 0
    assert answer.out.startswith("nothing is stuck; the log covers 2 turns from ")
    assert (look("stuck", "--json").items, look("stuck", "--jsonl").out) == ([], "")


@pytest.mark.spec("OPS-14")
def test_a_stuck_turn_is_told_with_its_rule_and_what_to_type_next(builder: LogBuilder, look):
    builder.process(pid=GONE, silent=246)
    turn = hanging(builder, age=300, entered=60)
    first, rule, who, following, zone = look("stuck", "--utc").lines
    assert re.fullmatch(
        rf"{turn}  in model_attempt since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d \(4 min( \d+ s)? ago\)", first
    )
    assert rule.startswith(
        f"  process_gone: its process {GONE} on {socket.gethostname()} is gone; last sign of life 4 min"
    )
    assert who == "  user turn of mira in #general, who spoke to the bot and waits"
    assert following == f"  next: phasewalk show {turn}"
    assert zone == "times: UTC"


def test_the_number_of_a_rule_stands_beside_its_limit(builder: LogBuilder, look):
    hanging(builder, deadline_us=builder.at(125))
    assert "deadline_passed: its deadline passed 2 min 5 s ago, limit 35 s" in look("stuck").out


@pytest.mark.spec("OPS-20")
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("process_gone", "is gone; last sign of life at 2026-09-21 14:13:20"),
        ("heartbeat_lost", "gave no sign of life since 2026-09-21 14:13:20, limit 3 min"),
        ("deadline_passed", "its deadline passed at 2026-09-21 14:13:20, limit 3 min"),
        ("phase_over_budget", "the phase is over its budget since 2026-09-21 14:13:20, limit 3 min"),
    ],
)
def test_a_rule_can_be_told_by_its_instant_which_does_not_age(rule, said):
    row = {"rule": rule, "pid": 7, "host": "h", "threshold": 180.0, "counted_from_us": 1_790_000_000_000_000}
    assert rule_of(row, zone_of(utc=True, tz=None)).endswith(said)


def test_the_instant_that_a_rule_counts_from_is_told_with_it(builder: LogBuilder, look):
    hanging(builder, deadline_us=builder.at(100))
    hanging(builder, age=500, entered=0, budget_ms=300_000)
    counted = {item["rule"]: item["counted_from_us"] for item in look("stuck", "--json").items}
    assert counted == {"deadline_passed": builder.at(100), "phase_over_budget": builder.at(200)}


def test_a_turn_whose_entries_were_lost_is_found_all_the_same(builder: LogBuilder, look):
    builder.process(pid=GONE)
    turn = builder.turn(outcome=None, phase="classify")
    assert found(look("stuck", "--json")) == [(turn, "process_gone")]


@pytest.mark.spec("OPS-14")
def test_one_line_a_turn_for_programs(builder: LogBuilder, look):
    builder.process(pid=GONE)
    hanging(builder, age=90)
    hanging(builder, age=60)
    answer = look("stuck", "--jsonl")
    assert (answer.status, len(answer.lines)) == (1, 2)
