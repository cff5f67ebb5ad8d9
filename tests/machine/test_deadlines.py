"""Waiting for foreign work up to an instant, on a clock turned by hand."""

import asyncio

import pytest

from phasewalk.machine.deadlines import (
    CancelledByWorkError,
    Commit,
    LimitPassedError,
    SystemClock,
    in_background,
    within,
)
from phasewalk.machine.testing import ManualClock, settle


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start=1000.0)


async def deaf(release: asyncio.Event, answer: object) -> object:
    """Work that does not react to cancellation."""
    while not release.is_set():
        try:
            await release.wait()
        except asyncio.CancelledError:
            continue
    if isinstance(answer, Exception):
        raise answer
    return answer


@pytest.mark.spec("TURN-05")
async def test_work_that_ends_in_time_gives_its_result(clock: ManualClock):
    async def work() -> str:
        await clock.sleep(4.0)
        return "done"

    task = asyncio.ensure_future(within(work(), 1005.0, clock))
    await clock.advance(4.0)
    assert task.result() == "done"


@pytest.mark.spec("TURN-05")
async def test_an_error_of_the_work_comes_out_as_it_is(clock: ManualClock):
    async def work() -> str:
        raise TimeoutError("the work's own")

    with pytest.raises(TimeoutError, match="the work's own"):
        await within(work(), 1005.0, clock)


@pytest.mark.spec("TURN-05")
async def test_at_the_limit_the_work_is_cancelled(clock: ManualClock):
    heard: list[float] = []

    async def work() -> None:
        try:
            await clock.sleep(60.0)
        except asyncio.CancelledError:
            heard.append(clock.monotonic())
            raise

    task = asyncio.ensure_future(within(work(), 1005.0, clock))
    await clock.advance(4.999)
    assert not task.done()
    await clock.advance(0.001)
    assert isinstance(task.exception(), LimitPassedError)
    assert heard == [1005.0]


@pytest.mark.spec("TURN-05")
async def test_a_limit_that_has_passed_gives_the_work_no_time(clock: ManualClock):
    task = asyncio.ensure_future(within(clock.sleep(1.0), 900.0, clock))
    await clock.advance(0.0)
    assert isinstance(task.exception(), LimitPassedError)


@pytest.mark.spec("TURN-08")
async def test_work_that_ignores_cancellation_holds_up_nobody_longer_than_the_clean_up(clock: ManualClock):
    release = asyncio.Event()
    task = asyncio.ensure_future(within(deaf(release, "late"), 1005.0, clock, cleanup=2.0))
    await clock.advance(6.999)
    assert not task.done()
    await clock.advance(0.001)
    assert isinstance(task.exception(), LimitPassedError)
    release.set()


@pytest.mark.spec("TURN-08")
@pytest.mark.parametrize("answer", ["late", ValueError("late")])
async def test_a_late_end_is_reported_once_and_used_for_nothing(clock: ManualClock, answer: object):
    release, late = asyncio.Event(), []
    task = asyncio.ensure_future(within(deaf(release, answer), 1001.0, clock, cleanup=1.0, on_late=late.append))
    await clock.advance(2.0)
    assert isinstance(task.exception(), LimitPassedError)
    assert late == []
    release.set()
    await settle()
    assert [t.exception() or t.result() for t in late] == [answer]


@pytest.mark.spec("TURN-08")
async def test_work_that_heeds_its_cancellation_is_not_late(clock: ManualClock):
    late: list[object] = []
    task = asyncio.ensure_future(within(clock.sleep(60.0), 1001.0, clock, on_late=late.append))
    await clock.advance(100.0)
    assert isinstance(task.exception(), LimitPassedError)
    assert late == []


@pytest.mark.spec("TURN-08")
async def test_work_that_ends_while_it_cleans_up_is_late(clock: ManualClock):
    late: list[object] = []

    async def work() -> str:
        try:
            await clock.sleep(60.0)
        except asyncio.CancelledError:
            await clock.sleep(0.5)
        return "written"

    task = asyncio.ensure_future(within(work(), 1001.0, clock, cleanup=1.0, on_late=late.append))
    await clock.advance(3.0)
    assert isinstance(task.exception(), LimitPassedError)
    assert [t.result() for t in late] == ["written"]


@pytest.mark.spec("TURN-08")
async def test_work_that_cancels_itself_is_no_cancellation_of_the_caller(clock: ManualClock):
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CancelledByWorkError):
        await within(work(), 1005.0, clock)


@pytest.mark.spec("TURN-08")
async def test_when_the_caller_is_cancelled_so_is_the_work_and_nobody_waits_for_it(clock: ManualClock):
    release, late = asyncio.Event(), []
    task = asyncio.ensure_future(within(deaf(release, "late"), 1005.0, clock, on_late=late.append))
    await settle()
    task.cancel()
    await settle()
    assert task.cancelled()
    release.set()
    await settle()
    assert [t.result() for t in late] == ["late"]


@pytest.mark.spec("LOG-03")
async def test_a_commit_cannot_be_cancelled_by_who_waits_for_it():
    commit = Commit()

    async def wait() -> None:
        await commit

    task = asyncio.ensure_future(wait())
    await settle()
    task.cancel()
    await settle()
    assert not task.done()
    commit.set_result(None)
    await settle()
    assert task.cancelled()
    assert commit.result() is None


async def test_work_in_the_background_is_kept_until_it_has_ended():
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("done")

    in_background(work())
    await settle()
    assert done == ["done"]


@pytest.mark.spec("TURN-09")
async def test_a_step_of_the_wall_clock_moves_no_timer(clock: ManualClock):
    rung: list[float] = []
    clock.call_at(1010.0, lambda: rung.append(clock.monotonic()))
    before = clock.now_us()
    clock.step_wall(-3600.0)
    assert clock.now_us() == before - 3_600_000_000
    await clock.advance(9.999)
    assert rung == []
    await clock.advance(0.001)
    assert rung == [1010.0]


async def test_the_manual_clock_calls_back_in_the_order_of_the_instants(clock: ManualClock):
    rung: list[str] = []
    clock.call_at(1003.0, lambda: rung.append("third"))
    clock.call_at(1001.0, lambda: rung.append("first"))
    clock.call_at(1001.0, lambda: rung.append("second"))
    clock.call_at(1002.0, lambda: rung.append("never")).cancel()
    await clock.advance(5.0)
    assert rung == ["first", "second", "third"]
    assert clock.monotonic() == 1005.0


async def test_the_real_clock_never_steps_back_and_calls_on_the_loop():
    clock = SystemClock()
    rung = asyncio.Event()
    first = clock.monotonic()
    clock.call_at(first, rung.set)
    await asyncio.wait_for(rung.wait(), 10.0)
    await clock.sleep(0.0)
    assert clock.monotonic() >= first
    assert clock.now_us() > 1_600_000_000_000_000
