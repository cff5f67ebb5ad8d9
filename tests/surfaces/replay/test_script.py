"""The time of a replay, and what takes it."""

import asyncio

import pytest

from phasewalk.storage.recorded_turn import Effect, Moment, RecordedTurn, Stay, Text
from phasewalk.surfaces.replay.clock import ReplayClock, ReplayLoop, StalledError
from phasewalk.surfaces.replay.script import Script

BEGUN = Moment(1_790_000_000_000_000, 100.0)


def record(*effects: Effect) -> RecordedTurn:
    stay = Stay("tool_rounds", 1, BEGUN, Moment(BEGUN.at_us + 5_000_000, 105.0), 5000, "deadline_passed", None, "T30", "deliver", [], {}, {})  # fmt: skip
    turn = {"turn_id": "t", "started_us": BEGUN.at_us, "deadline_us": BEGUN.at_us + 4_000_000}
    return RecordedTurn(turn, Text("", ""), [stay], [], [], list(effects), [], None)


def run(clock: ReplayClock, work) -> object:
    loop = ReplayLoop(clock)
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


@pytest.mark.spec("TURN-09", "OPS-15")
def test_waiting_takes_no_time_and_wakes_everybody_in_order_at_his_instant():
    clock, woken = ReplayClock(BEGUN), []

    async def wait(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic(), clock.now_us()))

    async def both() -> None:
        await asyncio.gather(wait(3600.0), wait(0.5))

    run(clock, both())
    assert [(s, round(m, 6)) for s, m, _ in woken] == [(0.5, 100.5), (3600.0, 3700.0)]
    assert woken[1][2] == BEGUN.at_us + 3_600_000_000


@pytest.mark.spec("TURN-09")
def test_the_wall_clock_steps_as_it_did_and_the_monotonic_one_never_goes_back():
    clock = ReplayClock(BEGUN)
    clock.show(Moment(BEGUN.at_us - 7_000_000, 101.0))
    assert (clock.monotonic(), clock.now_us()) == (101.0, BEGUN.at_us - 7_000_000)
    clock.show(Moment(BEGUN.at_us, 100.0))
    assert clock.monotonic() == 101.0


@pytest.mark.spec("OPS-15")
def test_a_walk_in_which_everything_waits_for_nothing_ends_with_an_error():
    with pytest.raises(StalledError):
        run(ReplayClock(BEGUN), asyncio.Event().wait())


@pytest.mark.spec("TURN-06")
def test_work_that_was_used_came_in_time_whatever_its_last_row_says():
    clock = ReplayClock(BEGUN)
    kept = record()
    kept.stays[0] = kept.stays[0]._replace(event="results_ready")
    script = Script(kept, clock, lambda _why: None, lambda _reason: None)
    script.place = 0
    run(clock, script.finished(BEGUN.at_us + 4_500_000))
    assert 103.99 < clock.monotonic() < 104.0
