"""Turns that no message opened: what they may use, what their tools are told, and what enters history (TURN-17)."""

import pytest

from phasewalk.machine.ports import Sight
from phasewalk.machine.records import AttemptStarted, Said
from phasewalk.machine.tooling import ToolContext
from phasewalk.machine.words import Kind
from phasewalk.phases.tools import tool

BACKGROUND = {"addressed": None, "guild_id": "1"}


def spying(told: list[ToolContext]) -> list:
    @tool(family="notes", effect="read_only")
    async def notes_list(context: ToolContext) -> dict:
        """List."""
        told.append(context)
        return {"notes": []}

    @tool(family="memory", effect="read_only")
    async def memory_recall() -> dict:
        """Recall."""
        return {}

    return [notes_list, memory_recall]


async def context_in(a_world, reply, **fields: object) -> ToolContext:
    told: list[ToolContext] = []
    world = a_world(reply.calls(("notes_list", {})), reply.says("None."), tools=spying(told))
    await world.turn("show my notes", guild_id="1", **fields)
    return told[0]


@pytest.mark.spec("TURN-17")
@pytest.mark.parametrize("kind", [Kind.SCHEDULED, Kind.IDLE])
async def test_tools_of_a_background_turn_are_told_of_no_chat(a_world, reply, kind):
    there = await context_in(a_world, reply)
    here = await context_in(a_world, reply, kind=kind, addressed=None, families=("notes",))
    assert (there.channel_id, there.channel_name, there.guild_id) == ("1", "general", "1")
    assert (here.channel_id, here.channel_name, here.guild_id, here.readable_channels) == ("", "", "", ())
    assert (
        (here.user_id, here.user_name, here.shelf)
        == (there.user_id, there.user_name, there.shelf)
        == ("7", "mira", "1")
    )


@pytest.mark.spec("TURN-17", "CON-10")
async def test_a_scheduled_turn_is_offered_the_families_of_its_job_and_not_those_of_its_words(a_world, reply):
    world = a_world(reply.says("Done."), tools=spying([]))
    await world.turn("show my notes", kind=Kind.SCHEDULED, addressed=None, families=("memory",))
    assert [schema.name for schema in world.provider.requests[0].tools] == ["memory_recall"]


@pytest.mark.spec("TURN-17", "CON-10")
async def test_a_job_without_families_is_offered_no_tool_whatever_its_words(a_world, reply):
    world = a_world(reply.says("Done."), tools=spying([]))
    await world.turn("show my notes", kind=Kind.SCHEDULED, addressed=None, families=())
    assert list(world.provider.requests[0].tools) == []


@pytest.mark.spec("TURN-17", "CON-12")
async def test_a_family_that_policy_has_taken_away_since_is_told_to_whom_the_job_runs_for(a_world, reply):
    world = a_world(reply.says("Done."), tools=spying([]), disabled_families=("memory",))
    turn = await world.turn("daily", kind=Kind.SCHEDULED, addressed=None, families=("memory",))
    assert (turn.outcome, world.provider.requests, len(world.spoken)) == ("unavailable", [], 1)


@pytest.mark.spec("TURN-17")
async def test_what_a_scheduled_turn_needs_to_be_walked_again_is_kept(a_world, reply):
    turn = await a_world().turn("daily", kind=Kind.SCHEDULED, addressed=None, families=())
    assert turn.trigger.document()["families"] == ()
    assert "families" not in (await a_world().turn("hi")).trigger.document()


@pytest.mark.spec("TURN-17", "ENV-02")
async def test_a_follow_up_may_be_silent_and_its_occasion_is_nobodys_word(a_world, reply):
    world = a_world(reply.says(None, answer_needed=False))
    turn = await world.turn("it went quiet", kind=Kind.IDLE, addressed=None, families=())
    assert (turn.outcome, world.spoken, world.rows(Said)) == ("silent", [], [])


@pytest.mark.spec("TURN-17")
async def test_what_a_follow_up_says_is_said_and_remembered(a_world, reply):
    world = a_world(reply.says("Did it work?"))
    turn = await world.turn("it went quiet", kind=Kind.IDLE, addressed=None, families=())
    assert (turn.outcome, [said.text for said in world.spoken]) == ("answered", ["Did it work?"])
    assert [(said.role, said.text) for said in world.rows(Said)] == [("assistant", "Did it work?")]


@pytest.mark.spec("TURN-17")
async def test_new_activity_before_the_model_is_asked_ends_a_follow_up_without_asking(a_world, reply):
    world = a_world(reply.says("Did it work?"))
    world.sights = [Sight.OVERTAKEN]
    turn = await world.turn("it went quiet", kind=Kind.IDLE, addressed=None, families=())
    assert (turn.outcome, turn.reason, world.spoken) == ("refused", "superseded", [])
    assert world.rows(AttemptStarted) == []


@pytest.mark.spec("TURN-17")
async def test_new_activity_while_the_model_is_asked_keeps_its_answer_from_being_said(a_world, reply):
    world = a_world(reply.says("Did it work?"))
    world.sights = [Sight.AS_IT_WAS, Sight.OVERTAKEN]
    turn = await world.turn("it went quiet", kind=Kind.IDLE, addressed=None, families=())
    assert (turn.outcome, turn.reason, world.spoken) == ("cancelled", "superseded", [])
    assert len(world.rows(AttemptStarted)) == 1


@pytest.mark.spec("TURN-17")
async def test_a_message_of_a_person_is_never_overtaken(a_world, reply):
    world = a_world(reply.says("Hello."))
    world.sights = [Sight.OVERTAKEN, Sight.OVERTAKEN]
    assert (await world.turn("hi")).outcome == "answered"
