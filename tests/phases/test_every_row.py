"""Turns through the real phases, one for each way that the table knows; together they take every row."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import attrs
import pytest

from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.ports import Sight
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import PhaseExited
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.machine.words import Kind
from phasewalk.phases.tools import tool

Way = Callable[..., Awaitable[object]]
WAYS: dict[str, tuple[Way, str]] = {}
ELSEWHERE = {"T40", "T41", "T42", "T43"}
"""Rows that wait for recovery; the engine takes them in the tests of the machine."""


@tool(family="notes", effect="read_only")
async def notes_list() -> dict:
    """List."""
    return {"notes": []}


def takes(rows: str) -> Callable[[Way], Way]:
    def keep(way: Way) -> Way:
        WAYS[way.__name__] = (way, rows)
        return way

    return keep


def raising(error: BaseException) -> Callable:
    def sending(speech):
        raise error

    return sending


@takes("T01 T04 T05 T08 T12 T20 T25 T28")
async def answered(a_world, reply):
    await (world := a_world()).turn()
    return world


@takes("T01 T04 T05 T08 T12 T19 T28")
async def overtaken_while_the_model_thought(a_world, reply):
    world = a_world()
    world.sights = [Sight.AS_IT_WAS, Sight.OVERTAKEN]
    await world.turn(kind=Kind.IDLE, addressed=None, families=())
    return world


@takes("T02 T28")
async def archived(a_world, reply):
    await (world := a_world(short_path=((re.compile("general"), re.compile("mira")),))).turn()
    return world


@takes("T03 T25 T28")
async def not_admitted(a_world, reply):
    world = a_world()

    async def busy(trigger):
        return Reason.QUEUE_FULL

    world.refusal = busy
    await world.turn()
    return world


@takes("T01 T04 T06 T25 T28")
async def without_the_tool(a_world, reply):
    await (world := a_world()).turn("show my calendar")
    return world


@takes("T01 T04 T07 T25 T28")
async def unclear(a_world, reply):
    await (world := a_world(unclear="ask")).turn("turn off the lights")
    return world


@takes("T01 T04 T05 T09 T25 T28")
async def too_large(a_world, reply):
    world = a_world()
    world.change(candidates=tuple(attrs.evolve(c, window=10) for c in world.settings.candidates))
    await world.turn()
    return world


@takes("T01 T04 T05 T08 T10 T18 T12 T20 T25 T28")
async def with_a_tool(a_world, reply):
    await (world := a_world(reply.calls(("notes_list", {})), reply.says(), tools=[notes_list])).turn("show my notes")
    return world


@takes("T01 T04 T05 T08 T11 T20 T25 T28")
async def calls_that_were_not_offered(a_world, reply):
    await (world := a_world(reply.calls(("notes_list", {}), text=reply.says("Still an answer.").text))).turn()
    assert [s.text for s in world.spoken] == ["Still an answer."]
    return world


@takes("T01 T04 T05 T08 T13 T09 T25 T28")
async def overflowing(a_world, reply):
    await (world := a_world(reply.fails(FailureKind.CONTEXT_LIMIT, Reason.CONTEXT_LIMIT))).turn()
    return world


@takes("T01 T04 T05 T08 T14 T14 T15 T12 T20 T25 T28")
async def retried_and_fallen_back(a_world, reply):
    bad = reply.fails(FailureKind.TRANSIENT, Reason.HTTP_5XX)
    await (world := a_world(bad, bad, bad, reply.says(), candidates=2)).turn()
    return world


@takes("T01 T04 T05 T08 T14 T14 T16 T25 T28")
async def failed(a_world, reply):
    await (world := a_world(reply.fails(FailureKind.TRANSIENT, Reason.HTTP_5XX))).turn()
    return world


@takes("T01 T04 T05 T08 T17 T25 T28")
async def nobody_to_ask(a_world, reply):
    world = a_world()
    world.change(candidates=tuple(attrs.evolve(c, configured=False) for c in world.settings.candidates))
    await world.turn()
    return world


@takes("T01 T04 T05 T08 T12 T21 T28")
async def overheard_and_not_needed(a_world, reply):
    await (world := a_world(reply.says(answer_needed=False))).turn(addressed=None)
    return world


@takes("T01 T04 T05 T08 T12 T22 T12 T22 T12 T23 T12 T20 T25 T28")
async def rejected_and_fallen_back(a_world, reply):
    bad = reply.says(None)
    await (world := a_world(bad, bad, bad, reply.says(), candidates=2)).turn()
    return world


@takes("T01 T04 T05 T08 T12 T22 T12 T22 T12 T24 T25 T28")
async def rejected(a_world, reply):
    await (world := a_world(reply.says(None))).turn()
    return world


@takes("T01 T04 T05 T08 T12 T20 T26 T28")
async def not_delivered(a_world, reply):
    world = a_world()
    world.sending = raising(DeliveryError("gone", Reason.DELIVERY_TARGET_GONE))
    await world.turn()
    return world


@takes("T01 T04 T05 T08 T12 T20 T27 T28")
async def delivered_perhaps(a_world, reply):
    world = a_world()
    world.sending = raising(DeliveryInDoubtError("no answer"))
    await world.turn()
    return world


@takes("T01 T04 T05 T08 T14 T30 T25 T28")
async def expired(a_world, reply):
    world = a_world(lambda request: world.clock.sleep(1000))
    await world.turn()
    return world


@takes("T01 T04 T05 T08 T12 T20 T31 T28")
async def expired_while_speaking(a_world, reply):
    world = a_world()

    async def slow(speech, trigger, key):
        await world.clock.sleep(1000)

    world.send = slow
    await world.turn()
    return world


@takes("T01 T04 T05 T08 T32 T25 T28")
async def cancelled(a_world, reply):
    world = a_world(lambda request: world.clock.sleep(1000))
    task = world.start()
    for _ in range(50):
        await asyncio.sleep(0)
    world.runner.cancel(world.runner.active[0], Reason.SHUTTING_DOWN)
    await task
    return world


@takes("T01 T04 T05 T08 T12 T20 T33 T28")
async def cancelled_while_speaking(a_world, reply):
    world = a_world()

    async def slow(speech, trigger, key):
        await world.clock.sleep(1000)

    world.send = slow
    task = world.start()
    for _ in range(50):
        await asyncio.sleep(0)
    world.runner.cancel(world.runner.active[0], Reason.SHUTTING_DOWN)
    await task
    return world


@takes("T01 T04 T05 T34 T25 T28")
async def crashed(a_world, reply):
    (world := a_world()).broken.add("persona")
    await world.turn()
    return world


@takes("T01 T04 T05 T08 T12 T20 T35 T28")
async def crashed_while_speaking(a_world, reply):
    world = a_world()
    world.sending = raising(RuntimeError("a bug"))
    await world.turn()
    return world


@takes("T01 T04 T05 T08 T12 T20 T25 T36")
async def crashed_while_recording(a_world, reply):
    world = a_world()
    world.sending = lambda speech: world.broken.add("history_limit")
    await world.turn()
    return world


@pytest.mark.spec("TURN-04", "BAR-31")
@pytest.mark.parametrize(("way", "rows"), WAYS.values(), ids=WAYS.keys())
async def test_the_rows_that_are_taken(a_world, reply, way, rows):
    world = await way(a_world, reply)
    assert [row.transition for row in world.rows(PhaseExited)] == rows.split()


@pytest.mark.spec("BAR-31")
def test_together_they_take_every_row():
    assert {row for _, rows in WAYS.values() for row in rows.split()} == set(TURN_TABLE.by_id) - ELSEWHERE
