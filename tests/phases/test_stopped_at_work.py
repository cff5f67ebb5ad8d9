"""A phase that is stopped while its first rows are being written leaves none of them open."""

import pytest

from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import AttemptEnded, AttemptStarted, ToolEnded, ToolStarted
from phasewalk.machine.words import Outcome
from phasewalk.phases.tools import tool


@tool(family="notes", effect="mutating")
async def notes_add(text: str) -> dict:
    """Add."""
    return {"added": text}


def hold(world, kind: type) -> None:
    """Writes of such rows take longer than a turn may."""

    def holding(records, commit) -> bool:
        held = any(type(record) is kind for record in records)
        if held:
            end = world.clock.monotonic() + world.settings.limits.turn + 1
            world.clock.call_at(end, lambda: commit.set_result(None))
        return held

    world.log.holding = holding


@pytest.mark.spec("TURN-06")
async def test_an_attempt_whose_row_is_being_written_when_the_deadline_comes_has_an_end(a_world):
    world = a_world()
    hold(world, AttemptStarted)
    turn = await world.turn()
    assert (turn.outcome, turn.reason) == (Outcome.EXPIRED, Reason.DEADLINE_PASSED)
    assert [(row.n, row.status, row.reason) for row in world.rows(AttemptEnded)] == [(1, "failed", Reason.TIMED_OUT)]


@pytest.mark.spec("TURN-07")
async def test_calls_whose_rows_are_being_written_when_the_deadline_comes_were_not_executed(a_world, reply):
    world = a_world(reply.calls(("notes_add", {"text": "milk"})), tools=[notes_add])
    hold(world, ToolStarted)
    turn = await world.turn("note: milk")
    assert turn.outcome is Outcome.EXPIRED
    ends = [(row.call_id, row.status, row.reason) for row in world.rows(ToolEnded)]
    assert ends == [("call-1", "not_executed", Reason.DEADLINE_PASSED)]


@pytest.mark.spec("TURN-07")
async def test_calls_of_a_round_that_crashes_are_paired_as_well(a_world, reply):
    world = a_world(reply.calls(("notes_add", {"text": "milk"})), tools=[notes_add])
    world.tools.problem_with = lambda name, arguments: 1 / 0
    turn = await world.turn("note: milk")
    assert turn.reason is Reason.INTERNAL_ERROR
    ends = [(row.call_id, row.status, row.reason) for row in world.rows(ToolEnded)]
    assert ends == [("call-1", "not_executed", Reason.INTERNAL_ERROR)]
