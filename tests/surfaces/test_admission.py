"""Who may start a turn, and that every way out gives its place back (TURN-11)."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from builders import LogBuilder

from phasewalk.machine.deadlines import SystemClock
from phasewalk.machine.reasons import Reason
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.surfaces.admission import Bounds, Desk

pytestmark = pytest.mark.spec("TURN-11")
COUNT = iter(range(10**6))


def trigger(person: str = "1", *, addressed: bool = True) -> Trigger:
    return Trigger(
        key=f"discord:{next(COUNT)}",
        kind=Kind.USER,
        text="hello",
        channel_id="7",
        channel_name="general",
        user_id=person,
        user_name="ann",
        addressed=Addressed.MENTION if addressed else None,
    )


@pytest.fixture
def desk(builder: LogBuilder):
    return lambda **bounds: Desk(Bounds(**bounds), SystemClock(), builder.log)


async def refused(desk: Desk, one: Trigger, lane: asyncio.Lock) -> Reason | None:
    """What is said to a trigger that has come to its place."""
    async with desk.place(one, lane):
        return await desk.refusal(one)


async def held(desk: Desk, stack: AsyncExitStack, one: Trigger, lane: asyncio.Lock) -> Reason | None:
    await stack.enter_async_context(desk.place(one, lane))
    return await desk.refusal(one)


async def test_a_queue_that_is_full_refuses_and_lets_in_again(desk):
    one, lane = desk(queued=1, per_user=99), asyncio.Lock()
    async with AsyncExitStack() as stack:
        assert await held(one, stack, trigger("1"), lane) is None
        waiting = asyncio.create_task(refused(one, trigger("2"), lane))
        await asyncio.sleep(0)
        assert await refused(one, trigger("3"), lane) is Reason.QUEUE_FULL
        assert await refused(one, trigger("4"), asyncio.Lock()) is None, "another channel need not wait"
    assert await waiting is None
    assert await refused(one, trigger("3"), lane) is None


async def test_without_a_queue_only_what_can_begin_at_once_is_let_in(desk):
    one, lane = desk(queued=0, running=1), asyncio.Lock()
    async with AsyncExitStack() as stack:
        assert await held(one, stack, trigger("1"), lane) is None
        assert await refused(one, trigger("2"), asyncio.Lock()) is Reason.QUEUE_FULL
    assert await refused(one, trigger("2"), lane) is None


async def test_one_person_has_a_few_places(desk):
    one = desk(per_user=2)
    async with AsyncExitStack() as stack:
        for _ in range(2):
            assert await held(one, stack, trigger("1"), asyncio.Lock()) is None
        assert await refused(one, trigger("1"), asyncio.Lock()) is Reason.USER_LIMIT
        assert await refused(one, trigger("2"), asyncio.Lock()) is None
    assert await refused(one, trigger("1"), asyncio.Lock()) is None


@pytest.mark.parametrize("running", [1, 9])
async def test_who_waits_too_long_is_refused_and_holds_nothing(desk, running):
    one, lane = desk(max_wait=0.05, running=running), asyncio.Lock()
    other = lane if running > 1 else asyncio.Lock()
    async with AsyncExitStack() as stack:
        assert await held(one, stack, trigger("1"), lane) is None
        late = trigger("2")
        async with one.place(late, other):
            assert await one.refusal(late) is Reason.WAIT_TOO_LONG
            assert lane.locked()
            assert other.locked() is (other is lane)
        assert await one.refusal(late) is None
    assert await refused(one, trigger("2"), lane) is None


@pytest.mark.parametrize("error", [RuntimeError, asyncio.CancelledError])
async def test_every_way_out_gives_everything_back(desk, error):
    one, lane = desk(running=1, per_user=1, queued=0), asyncio.Lock()
    for _ in range(3):
        with pytest.raises(error):
            async with one.place(trigger("1"), lane):
                raise error
    waiting = desk(running=1, per_user=1, queued=1)
    async with AsyncExitStack() as stack:
        await held(waiting, stack, trigger("1"), lane)
        task = asyncio.create_task(refused(waiting, trigger("2"), lane))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not lane.locked()
    assert await refused(one, trigger("1"), lane) is None
    assert await refused(waiting, trigger("2"), lane) is None


async def test_a_cool_down_is_for_who_speaks_to_the_bot(desk):
    one = desk(cool_down=0.2)
    assert await refused(one, trigger("1"), asyncio.Lock()) is None
    assert await refused(one, trigger("1"), asyncio.Lock()) is Reason.USER_LIMIT
    assert await refused(one, trigger("1", addressed=False), asyncio.Lock()) is None
    assert await refused(one, trigger("2"), asyncio.Lock()) is None
    await asyncio.sleep(0.25)
    assert await refused(one, trigger("1"), asyncio.Lock()) is None


async def test_a_number_a_day_counts_what_was_not_refused(desk, builder: LogBuilder):
    one = desk(daily=2)
    builder.turn(user_id="1", addressed=1, age=1)
    builder.turn(user_id="1", addressed=1, age=1, outcome="refused", reason="paused")
    builder.turn(user_id="1", addressed=0, age=1)
    builder.turn(user_id="2", addressed=1, age=1)
    assert await refused(one, trigger("1"), asyncio.Lock()) is None
    builder.turn(user_id="1", addressed=1, age=1)
    assert await refused(one, trigger("1"), asyncio.Lock()) is Reason.USER_LIMIT
    assert await refused(one, trigger("2"), asyncio.Lock()) is None


async def test_a_pause_holds_whoever_asks(desk, builder: LogBuilder):
    one = desk()
    builder.log.execute("INSERT INTO runner_flag (name, since_us, set_by) VALUES ('paused', 1, 'olga')")
    builder.log.commit()
    assert await one.refusal(trigger()) is Reason.PAUSED
    builder.log.execute("DELETE FROM runner_flag")
    builder.log.commit()
    assert await one.refusal(trigger()) is None
