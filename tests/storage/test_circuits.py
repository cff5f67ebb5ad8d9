"""The circuits of providers in the shared file: what counts, when one opens, who may probe, and what closes it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from phasewalk.machine.circuit import CircuitEvent, CircuitState
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import CircuitNoted
from phasewalk.storage.circuits import SqliteCircuits, reset

SECOND = 1_000_000
WINDOW, COOLDOWN, PROBE_LIMIT = 300 * SECOND, 1800 * SECOND, 360 * SECOND
CLOSED, OPEN, PROBE = CircuitState.CLOSED, CircuitState.OPEN, CircuitState.PROBE


class Providers:
    """Turns that report of providers and ask for them, at the time of the log's clock."""

    def __init__(self, log) -> None:
        self.log = log
        self.circuits = SqliteCircuits(log.writer, log.reader)
        self.turns = {}

    async def report(self, turn_id: str, event: CircuitEvent, provider: str = "one") -> None:
        """Three failures within five minutes open a circuit for half an hour."""
        if turn_id not in self.turns:
            self.turns[turn_id] = await self.log.turn(turn_id)
        reason = Reason.HTTP_5XX if event == CircuitEvent.FAILED else None
        await self.turns[turn_id].write(
            CircuitNoted(provider, event, self.log.clock.now_us(), reason, 3, WINDOW, COOLDOWN)
        )

    async def fail(self, *turn_ids: str, provider: str = "one") -> None:
        for turn_id in turn_ids:
            await self.report(turn_id, CircuitEvent.FAILED, provider)

    async def ask(self, turn_id: str = "turn-x", provider: str = "one"):
        now = self.log.clock.now_us()
        return await self.circuits.admit(provider, turn_id, now, now + PROBE_LIMIT)

    async def state(self, turn_id: str = "turn-x", provider: str = "one") -> CircuitState:
        return (await self.ask(turn_id, provider)).state

    async def half_open(self) -> None:
        """The circuit of `one` has been open for its whole time."""
        await self.fail("turn-1", "turn-2", "turn-3")
        self.log.clock.step_wall(1801)


@pytest.fixture
def one(log) -> Providers:
    return Providers(log)


@pytest.fixture
async def other(log, another) -> AsyncIterator[Providers]:
    """The same file through connections of its own, as another process of the same machine has it."""
    second = await another(log.path).start()
    second.clock = log.clock
    yield Providers(second)
    await second.close()


@pytest.mark.spec("FB-15")
async def test_a_provider_that_never_failed_is_asked(log, one: Providers):
    answer = await one.ask()
    assert (answer.state, answer.values) == (CLOSED, {})
    assert log.rows("SELECT * FROM circuit") == []


@pytest.mark.spec("FB-15")
async def test_fewer_failures_than_the_limit_leave_a_circuit_closed(one: Providers):
    await one.fail("turn-1", "turn-2")
    assert await one.state() == CLOSED


@pytest.mark.spec("FB-15")
async def test_the_last_failure_that_is_allowed_opens_the_circuit_and_tells_for_how_long(log, one: Providers):
    await one.fail("turn-1", "turn-2", "turn-3")
    opened = log.clock.now_us()
    log.clock.step_wall(60)
    answer = await one.ask()
    assert (answer.state, answer.values) == (OPEN, {"opened_us": opened, "open_for": 1740.0})


@pytest.mark.spec("FB-15")
async def test_each_provider_has_a_circuit_of_its_own(one: Providers):
    await one.fail("turn-1", "turn-2", "turn-3", provider="two")
    assert await one.state(provider="two") == OPEN
    assert await one.state(provider="one") == CLOSED


@pytest.mark.spec("FB-15")
async def test_failures_of_one_turn_are_one_failure(log, one: Providers):
    await one.fail("turn-1", "turn-1", "turn-1", "turn-1")
    assert await one.state() == CLOSED
    assert log.rows("SELECT provider, turn_id, reason FROM circuit_failure") == [("one", "turn-1", "http_5xx")]


@pytest.mark.spec("FB-15")
@pytest.mark.parametrize(("seconds", "state"), [(299, OPEN), (300, CLOSED)])
async def test_only_failures_within_the_window_count(log, one: Providers, seconds, state):
    await one.fail("turn-1", "turn-2")
    log.clock.step_wall(seconds)
    await one.fail("turn-3")
    assert await one.state() == state


@pytest.mark.spec("FB-15")
async def test_a_success_forgets_the_failures_before_it(log, one: Providers):
    await one.fail("turn-1", "turn-2")
    log.clock.step_wall(1)
    await one.report("turn-3", CircuitEvent.SUCCEEDED)
    log.clock.step_wall(1)
    await one.fail("turn-4", "turn-5")
    assert await one.state() == CLOSED


@pytest.mark.spec("FB-15")
async def test_a_failure_that_arrives_while_a_circuit_is_open_does_not_keep_it_open_longer(log, one: Providers):
    await one.fail("turn-1", "turn-2", "turn-3")
    log.clock.step_wall(100)
    await one.fail("turn-4")
    assert (await one.ask()).values["open_for"] == 1700.0


@pytest.mark.spec("FB-15")
@pytest.mark.parametrize(("seconds", "state"), [(1800, OPEN), (1801, PROBE)])
async def test_after_its_time_a_circuit_lets_a_turn_try(log, one: Providers, seconds, state):
    await one.fail("turn-1", "turn-2", "turn-3")
    log.clock.step_wall(seconds)
    assert await one.state() == state


@pytest.mark.spec("FB-15")
async def test_while_one_turn_probes_all_others_are_refused_and_told_who_it_is(log, one: Providers):
    await one.half_open()
    assert await one.state("turn-a") == PROBE
    answer = await one.ask("turn-b")
    until = log.clock.now_us() + PROBE_LIMIT
    assert (answer.state, answer.values) == (OPEN, {"probed_by": "turn-a", "until_us": until})


@pytest.mark.spec("FB-15")
async def test_of_many_turns_that_ask_at_once_exactly_one_probes(one: Providers):
    await one.half_open()
    states = await asyncio.gather(*(one.state(f"turn-{letter}") for letter in "abcdefgh"))
    assert sorted(states) == [OPEN] * 7 + [PROBE]


@pytest.mark.spec("FB-15")
async def test_a_probe_that_succeeds_closes_the_circuit(log, one: Providers):
    await one.half_open()
    await one.ask("turn-a")
    await one.report("turn-a", CircuitEvent.SUCCEEDED)
    assert await one.state("turn-b") == CLOSED
    assert log.rows("SELECT opened_us, open_until_us, probe_turn_id, probe_until_us FROM circuit") == [
        (None, None, None, None),
    ]  # fmt: skip


@pytest.mark.spec("FB-15")
async def test_a_probe_that_fails_opens_the_circuit_anew_for_its_whole_time(one: Providers):
    await one.half_open()
    await one.ask("turn-a")
    await one.fail("turn-a")
    answer = await one.ask("turn-b")
    assert (answer.state, answer.values["open_for"]) == (OPEN, 1800.0)


@pytest.mark.spec("FB-15")
async def test_a_probe_that_ends_without_an_answer_leaves_its_place_to_the_next_turn(one: Providers):
    await one.half_open()
    await one.ask("turn-a")
    await one.report("turn-a", CircuitEvent.RELEASED)
    assert await one.state("turn-b") == PROBE


@pytest.mark.spec("FB-15")
async def test_only_the_probe_itself_can_leave_its_place(one: Providers):
    await one.half_open()
    await one.ask("turn-a")
    await one.report("turn-b", CircuitEvent.RELEASED)
    assert await one.state("turn-c") == OPEN


@pytest.mark.spec("FB-15")
@pytest.mark.parametrize(("seconds", "state"), [(359, OPEN), (360, PROBE)])
async def test_a_probe_that_never_ends_is_taken_over_after_its_limit(log, one: Providers, seconds, state):
    await one.half_open()
    await one.ask("turn-a")
    log.clock.step_wall(seconds)
    assert await one.state("turn-b") == state


@pytest.mark.spec("FB-15")
async def test_the_failure_of_a_probe_that_was_taken_over_does_not_open_the_circuit(log, one: Providers):
    await one.half_open()
    await one.ask("turn-a")
    log.clock.step_wall(361)
    await one.ask("turn-b")
    await one.fail("turn-a")
    assert log.rows("SELECT probe_turn_id FROM circuit") == [("turn-b",)]


@pytest.mark.spec("FB-15")
async def test_a_turn_that_was_let_in_before_can_fail_in_a_half_open_circuit_without_opening_it(log, one: Providers):
    await one.half_open()
    await one.fail("turn-4")
    assert await one.state() == PROBE


@pytest.mark.spec("FB-15")
async def test_what_one_process_reports_another_one_sees(one: Providers, other: Providers):
    await one.fail("turn-1", "turn-2")
    await other.fail("turn-3")
    assert [await one.state(), await other.state()] == [OPEN, OPEN]


@pytest.mark.spec("FB-15")
async def test_of_two_processes_that_ask_at_once_exactly_one_probes(one: Providers, other: Providers):
    await one.half_open()
    states = await asyncio.gather(one.state("turn-a"), other.state("turn-b"))
    assert sorted(states) == [OPEN, PROBE]


@pytest.mark.spec("FB-15")
async def test_a_clock_that_was_set_back_before_the_opening_lets_a_turn_try(log, one: Providers):
    await one.fail("turn-1", "turn-2", "turn-3")
    log.clock.step_wall(-3600)
    assert await one.state() == PROBE


@pytest.mark.spec("FB-15")
async def test_closing_by_hand_forgets_what_was_counted(log, one: Providers):
    await one.fail("turn-1", "turn-2", "turn-3")
    log.clock.step_wall(1)
    with closing(log.other()) as connection:
        assert reset(connection, "one", log.clock.now_us()) is True
    log.clock.step_wall(1)
    await one.fail("turn-4", "turn-5")
    assert await one.state() == CLOSED


@pytest.mark.spec("FB-15")
async def test_a_provider_without_a_circuit_cannot_be_closed_by_hand(log):
    with closing(log.other()) as connection:
        assert reset(connection, "one", log.clock.now_us()) is False


@pytest.mark.spec("FB-15")
async def test_who_loses_the_race_for_a_probe_is_told_who_won_it(log):
    with closing(log.other()) as connection:
        connection.execute("INSERT INTO circuit VALUES ('one', 10, 20, 0, 'turn-gone', 30)")
    circuits = SqliteCircuits(log.writer, log.reader)
    won, lost = await asyncio.gather(*(circuits.admit("one", f"turn-{c}", 1000, 2000) for c in "ab"))
    assert won.state == CircuitState.PROBE
    assert lost.values == {"probed_by": "turn-a", "until_us": 2000}


@pytest.mark.spec("FB-15")
async def test_a_process_whose_clock_is_a_little_behind_finds_the_circuit_open(log):
    with closing(log.other()) as connection:
        connection.execute("INSERT INTO circuit VALUES ('one', 20000000, 90000000, 0, NULL, NULL)")
    circuits = SqliteCircuits(log.writer, log.reader)
    assert (await circuits.admit("one", "turn-a", 19_999_000, 95_000_000)).state == CircuitState.OPEN
    assert (await circuits.admit("one", "turn-a", 9_000_000, 95_000_000)).state == CircuitState.PROBE


@pytest.mark.spec("FB-15")
async def test_a_circuit_that_is_closed_while_a_probe_is_claimed_lets_everybody_pass(log):
    with closing(log.other()) as connection:
        connection.execute("INSERT INTO circuit VALUES ('one', 10, 20, 0, NULL, NULL)")
    circuits = SqliteCircuits(log.writer, log.reader)
    asking = asyncio.ensure_future(circuits.admit("one", "turn-a", 100_000_000, 200_000_000))
    await asyncio.sleep(0)
    with closing(log.other()) as connection:
        connection.execute("UPDATE circuit SET opened_us = NULL, open_until_us = NULL")
    assert (await asking).state == CircuitState.CLOSED
