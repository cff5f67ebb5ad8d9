"""Visits from entries and exits, also where some of them are missing."""

import pytest
from builders import LogBuilder

from phasewalk.storage.turn_visits import visits


@pytest.mark.spec("TURN-01")
def test_an_entry_and_its_exit_are_one_visit_with_times_and_guards(builder: LogBuilder):
    turn = builder.turn()
    guards = [{"transition": "T14", "name": "attempts_left", "held": False, "values": {"failures": 3}}]
    builder.enter(turn, "received", 0)
    builder.leave(turn, "received", 1, "T01 admitted", "model_attempt")
    builder.enter(turn, "model_attempt", 3.5, detail={"cause": "first"})
    builder.leave(turn, "model_attempt", 4, "T16 attempt_failed", "deliver", reason="http_5xx", guards=guards)
    first, second = visits(builder.log, turn)
    assert (first.offset_ms, first.gap_ms, first.took_ms, first.to_phase) == (0.0, 0.0, 1000.0, "model_attempt")
    assert (second.offset_ms, second.gap_ms, second.took_ms, second.reason) == (3500.0, 2500.0, 500.0, "http_5xx")
    assert second.guards == (("T14", "attempts_left", False, {"failures": 3}),)
    assert (second.entry, second.exit) == ({"cause": "first"}, {})


def test_a_visit_that_has_not_ended_has_no_event(builder: LogBuilder):
    turn = builder.turn(outcome=None, phase="classify")
    builder.enter(turn, "classify", 0)
    (visit,) = visits(builder.log, turn)
    assert (visit.event, visit.took_ms, visit.entered_us) == (None, None, builder.at(60))


def test_the_arrival_at_the_end_is_no_visit(builder: LogBuilder):
    turn = builder.turn()
    builder.enter(turn, "record", 0)
    builder.leave(turn, "record", 1, "T28 recorded", "done")
    builder.enter(turn, "done", 1)
    assert [visit.phase for visit in visits(builder.log, turn)] == ["record"]


@pytest.mark.spec("LOG-03")
def test_an_exit_whose_entry_was_lost_and_an_entry_whose_exit_was_lost_stay_visible(builder: LogBuilder):
    turn = builder.turn()
    builder.leave(turn, "received", 1, "T01 admitted", "classify")
    builder.enter(turn, "classify", 2)
    builder.enter(turn, "freeze_contract", 3)
    builder.leave(turn, "freeze_contract", 4, "T05 contract_frozen", "build_prompt", visit=2)
    assert [(v.phase, v.visit, v.entered_us is None, v.event) for v in visits(builder.log, turn)] == [
        ("received", 1, True, "admitted"), ("classify", 1, False, None), ("freeze_contract", 1, False, None),
        ("freeze_contract", 2, True, "contract_frozen"),
    ]  # fmt: skip


@pytest.mark.spec("TURN-09")
def test_after_a_restart_of_the_machine_the_wall_clock_tells_the_time_between(builder: LogBuilder):
    turn = builder.turn()
    builder.enter(turn, "received", 0)
    builder.leave(turn, "received", 60, "T40 interrupted", "received", mono_ns=-5)
    assert visits(builder.log, turn)[0].took_ms == 60_000.0


def test_a_turn_without_rows_has_no_visits(builder: LogBuilder):
    assert visits(builder.log, builder.turn()) == []
