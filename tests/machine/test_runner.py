"""The runner walks scripted phases: what it commits when, and how every walk ends."""

import asyncio
import json
import math

import pytest

from phasewalk.machine.definition import Definition
from phasewalk.machine.documents import encode
from phasewalk.machine.effects import EffectKind, EffectState
from phasewalk.machine.errors import DeliveryInDoubtError, LeaseLostError, LogWriteError
from phasewalk.machine.limits import Limits
from phasewalk.machine.phase import Opening, Report
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import (
    ContractFrozen,
    EffectIntended,
    EffectSettled,
    PhaseEntered,
    PhaseExited,
    TurnEnded,
    TurnMoved,
    TurnOpened,
)

ANSWERED = ["T01", "T04", "T05", "T08", "T12", "T20", "T25", "T28"]
THINK = (
    "received", "classify", "freeze_contract", "build_prompt", "model_attempt", "tool_rounds", "validate_envelope",
)  # fmt: skip
SEEN = ("received", "classify", "freeze_contract", "build_prompt", "model_attempt", "validate_envelope")


def kinds(machine) -> list[str]:
    return [type(record).__name__ for _, record in machine.log.rows]


def lead_to(machine, phase: str) -> None:
    """Script the walk so that it visits `phase`."""
    if phase == "tool_rounds":
        machine.script["model_attempt"] = Report("tools_requested", {"offered": ("dice",)})


def one_end(machine) -> TurnEnded:
    ends = machine.records(TurnEnded)
    assert len(ends) == 1
    assert machine.records(PhaseExited)[-1].to_phase == "done"
    return ends[0]


async def for_ever(_turn, _ports):
    await asyncio.Event().wait()


@pytest.mark.spec("LOG-01")
async def test_the_entry_of_a_visit_is_in_the_log_before_its_work(machine):
    seen: list[tuple[str, str]] = []

    def look(name: str, report: Report):
        def act(_turn, _ports):
            seen.append((name, machine.records(PhaseEntered)[-1].phase))
            return report

        return act

    machine.script = {name: look(name, report) for name, report in machine.script.items()}
    await machine.walk()
    walked = ["received", "classify", "freeze_contract", "build_prompt", "model_attempt", "validate_envelope"]
    assert seen == [(name, name) for name in [*walked, "deliver", "record"]]


@pytest.mark.spec("LOG-01", "TURN-04")
async def test_the_exit_of_a_visit_and_the_next_entry_are_one_commit(machine):
    commits: list[list[str]] = []

    def watch(records):
        commits.append([f"{type(r).__name__}:{getattr(r, 'phase', '')}" for r in records])

    machine.log.failing = watch
    ended = await machine.walk()
    assert machine.path() == ANSWERED
    assert commits[0] == ["TurnMoved:classify", "PhaseExited:received", "PhaseEntered:classify"]
    assert commits[-1] == ["TurnEnded:", "PhaseExited:record", "PhaseEntered:done"]
    assert len(commits) == 8
    assert (ended.turn_id, ended.known, ended.log_lost) == ("turn-1", False, False)


@pytest.mark.spec("LOG-01")
async def test_rows_are_numbered_without_a_gap_and_visits_are_counted(machine):
    machine.script["model_attempt"] = lambda turn, _ports: (
        Report("output_received") if turn.exchanges else Report("tools_requested", {"offered": ("dice",)})
    )
    machine.script["tool_rounds"] = Report("results_ready", {"exchanges": ("one",)})
    await machine.walk()
    rows = [r for _, r in machine.log.rows if isinstance(r, PhaseEntered | PhaseExited)]
    assert [r.seq for r in rows] == list(range(1, len(rows) + 1))
    assert [r.visit for r in rows if r.phase == "model_attempt"] == [1, 1, 2, 2]


@pytest.mark.spec("TURN-10")
async def test_a_trigger_that_is_known_does_nothing(machine):
    first = await machine.walk(key="discord:5")
    before = list(machine.log.rows)
    second = await machine.walk(key="discord:5")
    assert (second.turn_id, second.turn, second.known) == (first.turn_id, None, True)
    assert machine.log.rows == before


@pytest.mark.spec("TURN-01")
async def test_the_guards_asked_stand_in_the_row_of_the_transition(machine):
    await machine.walk()
    assert json.loads(machine.exit_of("validate_envelope").guards) == [
        {"transition": "T19", "name": "superseded", "held": False, "values": {}},
        {"transition": "T20", "name": "has_something_to_deliver", "held": True, "values": {"speeches": 1}},
    ]
    assert machine.exit_of("classify").guards is None


@pytest.mark.spec("TURN-05")
async def test_the_budget_of_a_visit_is_what_remains_of_the_turn_and_deliver_has_the_grace(machine):
    async def slow(_turn, ports):
        await ports.clock.sleep(10.0)
        return Report("classified")

    machine.script["classify"] = slow
    await machine.walk(Limits(turn=100.0, delivery_grace=30.0))
    budgets = {r.phase: r.budget_ms for r in machine.records(PhaseEntered)}
    assert (budgets["classify"], budgets["build_prompt"], budgets["deliver"]) == (100_000, 90_000, 120_000)
    assert (budgets["record"], budgets["done"]) == (None, None)


@pytest.mark.spec("TURN-05", "TURN-06", "TURN-07")
@pytest.mark.parametrize("phase", THINK)
async def test_a_deadline_in_a_phase_of_thinking_leads_over_deliver_to_the_end(machine, phase: str):
    lead_to(machine, phase)
    machine.script[phase] = for_ever
    ended = await machine.walk(Limits(turn=100.0))
    assert machine.path()[-3:] == ["T30", "T25", "T28"]
    exited = machine.exit_of(phase)
    assert (exited.event, exited.reason, exited.mono_ns) == ("deadline_passed", "deadline_passed", 1100 * 10**9)
    assert (ended.turn.outcome, ended.turn.reason) == ("expired", "deadline_passed")
    assert one_end(machine).reason_phase == phase


@pytest.mark.spec("TURN-07")
async def test_deliver_stops_only_at_the_end_of_its_grace(machine):
    machine.script["model_attempt"] = for_ever
    machine.script["deliver"] = for_ever
    ended = await machine.walk(Limits(turn=100.0, delivery_grace=30.0))
    assert machine.path()[-3:] == ["T30", "T31", "T28"]
    assert machine.exit_of("deliver").mono_ns == 1130 * 10**9
    assert (ended.turn.outcome, one_end(machine).reason_phase) == ("expired", "model_attempt")


@pytest.mark.spec("TURN-05", "TURN-07")
async def test_deliver_alone_may_use_deadline_and_grace(machine):
    machine.script["deliver"] = for_ever
    await machine.walk(Limits(turn=100.0, delivery_grace=30.0))
    assert machine.path()[-2:] == ["T31", "T28"]
    assert machine.exit_of("deliver").mono_ns == 1130 * 10**9


@pytest.mark.spec("TURN-05")
async def test_no_limit_stops_record(machine):
    async def slow(_turn, ports):
        await ports.clock.sleep(10_000.0)
        return Report("recorded")

    machine.script["record"] = slow
    ended = await machine.walk(Limits(turn=100.0, delivery_grace=30.0))
    assert machine.path() == ANSWERED
    assert (ended.turn.outcome, one_end(machine).at_us) == ("silent", machine.clock.now_us())


@pytest.mark.spec("TURN-05")
async def test_the_timer_of_a_walk_rings_at_most_at_its_two_limits(machine):
    """A phase that does not react must not keep the loop busy with a timer that rings for ever."""
    rung: list[float] = []
    call_at = machine.clock.call_at

    def counted(when, callback):
        return call_at(when, lambda: (rung.append(when), callback()))

    machine.clock.call_at = counted
    release = asyncio.Event()

    async def deaf(_turn, _ports):
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return Report("classified")

    machine.script["classify"] = deaf
    task = machine.start(limits=Limits(turn=100.0, delivery_grace=30.0))
    await machine.clock.advance(1000.0)
    assert rung == [1100.0, 1130.0]
    release.set()
    await machine.clock.run_until(task)
    assert machine.path()[-3:] == ["T30", "T31", "T28"]


@pytest.mark.spec("TURN-06")
async def test_a_result_that_a_phase_has_returned_wins_over_the_deadline_of_the_same_moment(machine):
    def just_in_time(_turn, ports):
        ports.clock._now = 1100.0
        return Report("classified")

    machine.script["classify"] = just_in_time
    await machine.walk(Limits(turn=100.0))
    assert machine.path() == ["T01", "T04", "T30", "T25", "T28"]
    assert machine.exit_of("classify").event == "classified"


@pytest.mark.spec("TURN-07")
async def test_an_answer_made_while_the_deadline_passed_is_delivered_within_the_grace(machine):
    plan = machine.script["validate_envelope"]

    async def finishes_all_the_same(_turn, ports):
        try:
            await ports.clock.sleep(1000.0)
        except asyncio.CancelledError:
            return plan
        raise AssertionError("the deadline must have come first")

    machine.script["validate_envelope"] = finishes_all_the_same
    task = machine.start(limits=Limits(turn=100.0))
    await machine.clock.run_until(task)
    assert machine.path() == ANSWERED
    assert task.cancelling() == 0


@pytest.mark.spec("TURN-04")
@pytest.mark.parametrize("phase", THINK)
async def test_a_turn_cancelled_by_the_runner_ends_with_the_reason_given(machine, phase: str):
    lead_to(machine, phase)
    machine.script[phase] = for_ever
    runner = machine.runner()
    task = machine.start(runner)
    await machine.clock.advance(1.0)
    assert runner.active == ("turn-1",)
    assert runner.cancel("turn-1", Reason.SHUTTING_DOWN) is True
    await machine.clock.run_until(task)
    assert machine.path()[-3:] == ["T32", "T25", "T28"]
    end = one_end(machine)
    assert (end.outcome, end.reason, end.reason_phase) == ("cancelled", "shutting_down", phase)
    assert runner.active == ()
    assert task.cancelling() == 0


async def test_a_turn_that_is_not_walking_cannot_be_cancelled(machine):
    assert machine.runner().cancel("turn-1", Reason.CANCELLED) is False


@pytest.mark.spec("TURN-04")
@pytest.mark.parametrize("phase", [*THINK, "deliver"])
async def test_a_task_cancelled_from_outside_ends_the_turn_first(machine, phase: str):
    lead_to(machine, phase)
    machine.script[phase] = for_ever
    task = machine.start()
    await machine.clock.advance(1.0)
    task.cancel()
    await machine.clock.run_until(task)
    assert task.cancelled()
    assert machine.exit_of(phase).transition == ("T33" if phase == "deliver" else "T32")
    end = one_end(machine)
    assert (end.outcome, end.reason, end.reason_phase) == ("cancelled", "cancelled", phase)


@pytest.mark.spec("TURN-04")
@pytest.mark.parametrize("from_outside", [True, False])
async def test_record_is_shielded_from_cancellation(machine, from_outside: bool):
    tries: list[float] = []

    async def slow(_turn, ports):
        tries.append(ports.clock.monotonic())
        await ports.clock.sleep(5.0)
        return Report("recorded")

    machine.script["record"] = slow
    runner = machine.runner()
    task = machine.start(runner)
    await machine.clock.advance(1.0)
    if from_outside:
        task.cancel()
    else:
        runner.cancel("turn-1", Reason.SHUTTING_DOWN)
    await machine.clock.run_until(task)
    assert machine.path() == ANSWERED
    assert one_end(machine).outcome == "silent"
    assert tries == ([1000.0, 1001.0] if from_outside else [1000.0])
    assert task.cancelled() is from_outside


def holding_the_first_write(machine) -> list:
    """Let the first commit of the walk wait; it is put into the list that is returned."""
    held: list = []
    memory = machine.log

    async def open_slowly(log, opened, token, *records):
        turn_log = await type(memory).open(log, opened, token, *records)
        inner = turn_log.write

        def write(*rows, durable=False):
            commit = inner(*rows, durable=durable)
            if held:
                return commit
            held.append(type(commit)())
            return held[0]

        turn_log.write = write
        return turn_log

    machine.log = _Opened(memory, open_slowly)
    return held


@pytest.mark.spec("TURN-04", "LOG-03")
async def test_a_cancellation_while_rows_are_on_their_way_is_followed_when_they_are_written(machine):
    held = holding_the_first_write(machine)
    task = machine.start()
    await machine.clock.advance(1.0)
    task.cancel()
    await machine.clock.advance(1.0)
    assert not task.done()
    held[0].set_result(None)
    await machine.clock.run_until(task)
    assert task.cancelled()
    assert machine.path() == ["T01", "T32", "T25", "T28"]


@pytest.mark.spec("LOG-03")
async def test_rows_that_cannot_be_written_end_the_walk_also_when_it_was_cancelled_meanwhile(machine):
    held = holding_the_first_write(machine)
    task = machine.start()
    await machine.clock.advance(1.0)
    task.cancel()
    held[0].set_exception(LogWriteError("disk full"))
    await machine.clock.run_until(task)
    assert task.cancelled()
    assert machine.path() == ["T01"]


class _Opened:
    """A log whose `open` is another function."""

    def __init__(self, log, opening):
        self._log, self._opening = log, opening

    def __getattr__(self, name):
        return getattr(self._log, name)

    async def open(self, opened, token, *records):
        return await self._opening(self._log, opened, token, *records)


@pytest.mark.spec("TURN-04")
@pytest.mark.parametrize("phase", [*SEEN, "tool_rounds", "deliver", "record"])
async def test_an_exception_in_a_phase_ends_the_turn_as_crashed(machine, phase: str):
    lead_to(machine, phase)
    machine.script[phase] = ValueError("a bug \ud800 of \x00 ours")
    await machine.walk()
    rows = {"deliver": ["T35", "T28"], "record": ["T36"]}
    expected = rows.get(phase, ["T34", "T25", "T28"])
    assert machine.path()[-len(expected) :] == expected
    exited = machine.exit_of(phase)
    assert json.loads(exited.detail) == {"error": "ValueError", "message": "a bug � of � ours"}
    end = one_end(machine)
    assert (end.outcome, end.reason, end.reason_phase) == ("stopped", "internal_error", phase)


@pytest.mark.spec("TURN-04")
async def test_an_exception_whose_text_fails_ends_the_turn_too(machine):
    class UnreadableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    machine.script["classify"] = UnreadableError()
    await machine.walk()
    assert json.loads(machine.exit_of("classify").detail) == {
        "error": "UnreadableError",
        "message": "an exception without readable text",
    }


@pytest.mark.spec("TURN-04")
@pytest.mark.parametrize("phase", ["classify", "record"])
async def test_a_phase_that_cancels_itself_has_crashed(machine, phase: str):
    machine.script[phase] = asyncio.CancelledError()
    task = machine.start()
    await machine.clock.run_until(task)
    assert machine.exit_of(phase).event == "crashed"
    assert task.result().turn.reason == "internal_error"


@pytest.mark.spec("FB-13", "TURN-04")
async def test_a_failing_clean_up_is_only_logged(machine):
    async def untidy(_turn, _ports):
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("the clean-up failed")

    machine.script["model_attempt"] = untidy
    await machine.walk(Limits(turn=100.0))
    exited = machine.exit_of("model_attempt")
    assert (exited.transition, exited.reason) == ("T30", "deadline_passed")
    assert json.loads(exited.detail)["message"] == "the clean-up failed"
    assert machine.path()[-2:] == ["T25", "T28"]


@pytest.mark.spec("TURN-02", "TURN-04")
async def test_the_opening_of_a_visit_stands_in_its_entry_and_changes_the_turn(machine):
    machine.openings["classify"] = lambda _turn: Opening({"flags": ("opened",)}, {"why": "test"})
    ended = await machine.walk()
    entered = next(r for r in machine.records(PhaseEntered) if r.phase == "classify")
    assert entered.detail == '{"why":"test"}'
    assert ended.turn.flags == ("opened",)
    assert one_end(machine).flags == '["opened"]'


@pytest.mark.spec("TURN-04")
async def test_a_fault_in_an_opening_crashes_the_visit(machine):
    machine.openings["classify"] = lambda _turn: Opening({"mood": "good"})
    await machine.walk()
    assert machine.path() == ["T01", "T34", "T25", "T28"]
    assert one_end(machine).reason_phase == "classify"
    assert "classify" not in [name for name, _ in machine.turns]


CYCLE: list = []
CYCLE.append(CYCLE)
REFUSED = [
    (Report("delivered"), "event", "'delivered' is not declared; declared are classified"),
    ({"event": "classified"}, "report", "is dict, declared is Report"),
    (None, "report", "is NoneType, declared is Report"),
    (Report(7), "event", "is int, declared is str"),
    (Report("classified", None), "changes", "is NoneType, declared is Mapping"),
    (Report("classified", detail=["x"]), "detail", "is list, declared is Mapping"),
    (Report("classified", reason="ok"), "reason", "is str, declared is Reason or None"),
    (Report("classified", records=[1]), "records", "is list, declared is tuple"),
    (Report("classified", records=(1,)), "records", "holds int, declared are rows of the log"),
    (Report("classified", {"mood": 1}), "mood", "not declared; declared are"),
    (Report("classified", {"flags": ["x"]}), "flags", "is list, declared is tuple"),
    (Report("classified", {"superseded": 1}), "superseded", "is int, declared is bool"),
    (Report("classified", {"failure": "x"}), "failure", "is str, declared is Failure or NoneType"),
    (Report("classified", {"flags": ({1},)}), "['flags'][0]", "set cannot be stored"),
    (Report("classified", {"flags": (object(),)}), "['flags'][0]", "object cannot be stored"),
    (Report("classified", {"flags": (math.nan,)}), "['flags'][0]", "Out of range float"),
    (Report("classified", detail={"at": b"bytes"}), "['at']", "bytes cannot be stored"),
    (Report("classified", detail={"deep": {"list": [1, {2}]}}), "['deep']['list'][1]", "set cannot be stored"),
    (Report("classified", detail={"loop": CYCLE}), "['loop'][0]", "Circular reference"),
]


@pytest.mark.spec("TURN-18")
@pytest.mark.parametrize(
    ("report", "field", "problem"), REFUSED, ids=[f"{n}-{f}" for n, (_, f, _) in enumerate(REFUSED)]
)
async def test_what_a_phase_may_not_return_is_refused_before_the_commit(machine, report, field: str, problem: str):
    machine.script["classify"] = report
    ended = await machine.walk()
    assert machine.path() == ["T01", "T34", "T25", "T28"]
    exited = machine.exit_of("classify")
    message = json.loads(exited.detail)["message"]
    assert exited.reason == "phase_result_invalid"
    assert message.startswith(f"phase 'classify', field {field!r}: ")
    assert problem in message
    assert (ended.turn.outcome, ended.turn.reason) == ("stopped", "phase_result_invalid")
    assert (ended.turn.flags, ended.turn.superseded, ended.turn.failure) == ((), False, None)
    for _, record in machine.log.rows:
        json.loads(encode(record).text)


@pytest.mark.spec("TURN-18")
async def test_what_a_phase_keeps_midway_is_checked_too(machine):
    def keep(_turn, ports):
        ports.keep(flags=["not", "a", "tuple"])

    machine.script["classify"] = keep
    ended = await machine.walk()
    assert "field 'flags': is list, declared is tuple" in machine.exit_of("classify").detail
    assert ended.turn.flags == ()


@pytest.mark.spec("TURN-07")
async def test_what_a_phase_has_kept_survives_its_interruption(machine):
    async def keep(_turn, ports):
        ports.keep(flags=("kept",))
        await asyncio.Event().wait()

    machine.script["classify"] = keep
    ended = await machine.walk(Limits(turn=10.0))
    assert (ended.turn.flags, ended.turn.outcome) == (("kept",), "expired")


async def speak(_turn, ports):
    """A deliver phase that sends once."""
    effect = await ports.effects.intend(EffectKind.ANSWER, "key", "general", {"text": "Hello."})
    ports.sent.append("Hello.")
    await ports.effects.done(effect, {"receipt": "99"})
    return Report("delivered")


def with_sending(machine):
    def act(turn, ports):
        ports.sent = machine.sent
        return speak(turn, ports)

    machine.script["deliver"] = act
    return machine


@pytest.mark.spec("CON-22", "LOG-03")
async def test_the_intent_is_written_before_the_effect_and_the_receipt_after(machine):
    with_sending(machine)
    ended = await machine.walk()
    assert ended.turn.effects[0].state is EffectState.DONE
    rows = [r for _, r in machine.log.rows if isinstance(r, EffectIntended | EffectSettled)]
    assert [(type(r).__name__, getattr(r, "kind", "")) for r in rows] == [
        ("EffectIntended", "answer"),
        ("EffectSettled", "receipt"),
    ]
    assert ended.turn.outcome == "answered"


@pytest.mark.spec("LOG-03", "TURN-04")
@pytest.mark.parametrize("at", range(10))
async def test_when_any_write_fails_the_turn_ends_and_nothing_is_sent_without_its_intent(machine, at: int):
    with_sending(machine)
    writes = iter(range(1000))
    machine.log.failing = lambda _records: LogWriteError("disk full") if next(writes) >= at else None
    ended = await machine.walk()
    intents = machine.records(EffectIntended)
    assert (ended.log_lost, ended.problem) == (True, "disk full")
    assert (ended.turn.outcome, ended.turn.reason) == ("stopped", "log_write_failed")
    assert len(machine.sent) == len(intents)
    assert len(intents) == (1 if at > 6 else 0)
    assert machine.records(TurnEnded) == []


@pytest.mark.spec("LOG-03")
async def test_a_log_that_works_again_ends_the_turn_with_its_reason(machine):
    with_sending(machine)
    machine.log.failing = lambda rows: LogWriteError("locked") if isinstance(rows[0], EffectIntended) else None
    ended = await machine.walk()
    assert machine.exit_of("deliver").reason == "log_write_failed"
    assert (ended.turn.outcome, ended.turn.reason, machine.sent) == ("stopped", "log_write_failed", [])
    assert ended.log_lost is False


@pytest.mark.spec("LOG-03")
async def test_a_turn_that_cannot_be_claimed_is_lost_with_its_problem(machine):
    async def fail(*_args):
        raise LogWriteError("disk full")

    machine.log = _Opened(machine.log, fail)
    ended = await machine.walk()
    assert (ended.log_lost, ended.problem, machine.turns) == (True, "disk full", [])


@pytest.mark.spec("TURN-13")
@pytest.mark.parametrize("at", range(10))
async def test_a_turn_that_lost_its_lease_writes_no_further_row(machine, at: int):
    with_sending(machine)
    writes = iter(range(1000))
    machine.log.failing = lambda _records: LeaseLostError("taken over") if next(writes) >= at else None
    ended = await machine.walk()
    assert (ended.turn.outcome, ended.turn.reason, ended.log_lost) == ("cancelled", "lease_lost", True)
    assert machine.records(TurnEnded) == []
    assert next(writes) == at + 1, "nothing may be tried after the loss"


@pytest.mark.spec("TURN-13")
async def test_a_lease_lost_inside_record_ends_the_walk_without_a_row(machine):
    machine.script["record"] = LeaseLostError("taken over")
    ended = await machine.walk()
    assert machine.path()[-1] == "T25"
    assert ended.turn.reason == "lease_lost"


@pytest.mark.spec("CON-22", "TURN-04")
async def test_an_intent_whose_turn_is_stopped_meanwhile_is_settled_as_not_started(machine):
    held: list = []

    async def act(_turn, ports):
        inner = ports.log.write

        def write(*records, durable=False):
            if held or not isinstance(records[0], EffectIntended):
                return inner(*records, durable=durable)
            commit = type(inner(*records, durable=durable))()
            held.append((commit, durable))
            return commit

        ports.log.write = write
        await ports.effects.intend(EffectKind.TOOL, "key", "add_note")
        machine.sent.append("the tool ran")
        return Report("results_ready")

    lead_to(machine, "tool_rounds")
    machine.script["tool_rounds"] = act
    runner = machine.runner()
    task = machine.start(runner)
    await machine.clock.advance(1.0)
    runner.cancel("turn-1", Reason.CANCELLED)
    await machine.clock.advance(1.0)
    held[0][0].set_result(None)
    await machine.clock.run_until(task)
    settled = machine.records(EffectSettled)[0]
    assert (settled.kind, settled.detail) == ("failed", '{"not_started":"the turn was stopped before it began"}')
    assert (machine.sent, held[0][1]) == ([], True)
    assert machine.path()[-3:] == ["T32", "T25", "T28"]


@pytest.mark.spec("TURN-04")
async def test_a_doubtful_delivery_ends_in_doubt(machine):
    async def doubt(_turn, ports):
        await ports.effects.intend(EffectKind.ANSWER, "key", "general")
        return Report("delivery_in_doubt", {"delivery_reason": Reason.DELIVERY_IN_DOUBT}, Reason.DELIVERY_IN_DOUBT)

    machine.script["deliver"] = doubt
    ended = await machine.walk()
    assert machine.path()[-2:] == ["T27", "T28"]
    assert (ended.turn.outcome, ended.turn.reason) == ("in_doubt", "delivery_in_doubt")
    assert DeliveryInDoubtError("gone").reason is Reason.DELIVERY_IN_DOUBT


@pytest.mark.spec("TURN-09")
async def test_the_wall_clock_may_step_back_and_deadline_and_order_stay(machine):
    def step(_turn, ports):
        ports.clock.step_wall(-3600.0)
        return Report("classified")

    machine.script["classify"] = step
    machine.script["model_attempt"] = for_ever
    await machine.walk(Limits(turn=100.0))
    rows = [r for _, r in machine.log.rows if isinstance(r, PhaseEntered | PhaseExited)]
    assert [r.seq for r in rows] == sorted(r.seq for r in rows)
    assert machine.exit_of("model_attempt").mono_ns == 1100 * 10**9
    assert machine.exit_of("classify").at_us < machine.records(TurnOpened)[0].started_us


@pytest.mark.spec("TURN-12")
async def test_many_turns_walk_side_by_side(machine):
    async def slow(_turn, ports):
        await ports.clock.sleep(5.0)
        return Report("output_received")

    machine.script["model_attempt"] = slow
    runner = machine.runner()
    tasks = [machine.start(runner, key=f"k:{n}") for n in range(50)]
    await machine.clock.advance(1.0)
    assert len(runner.active) == 50
    await machine.clock.advance(4.0)
    assert {str(task.result().turn.outcome) for task in tasks} == {"silent"}
    assert len(machine.records(TurnEnded)) == 50
    assert len(machine.records(TurnMoved)) == 50 * 7
    assert "PhaseEntered" in kinds(machine)


@pytest.mark.spec("CON-11", "CON-14")
async def test_the_contract_is_written_once_when_it_is_frozen(machine, make):
    contract = make.contract(offered=("dice",))
    machine.script["freeze_contract"] = Report("contract_frozen", {"contract": contract})
    machine.script["build_prompt"] = Report("prompt_built", {"contract": contract})
    await machine.walk()
    frozen = machine.records(ContractFrozen)
    assert [(row.digest, row.body) for row in frozen] == [(contract.digest, contract.encoded)]
    assert {row.contract_hash for row in machine.records(TurnMoved)[2:]} == {contract.digest}
    assert one_end(machine).contract_hash == contract.digest


@pytest.mark.spec("CON-22")
async def test_a_phase_sees_the_effects_of_its_turn_with_their_present_state(machine):
    seen: list[list[str]] = []

    async def act(_turn, ports):
        for key in ("one", "two"):
            effect = await ports.effects.intend(EffectKind.STAFF_NOTE, key, "staff")
            seen.append([str(e.state) for e in ports.effects.all()])
            await (ports.effects.failed(effect) if key == "one" else ports.effects.done(effect))
        seen.append([str(e.state) for e in ports.effects.all()])
        return Report("delivered")

    machine.script["deliver"] = act
    ended = await machine.walk()
    assert seen == [["intended"], ["failed", "intended"], ["failed", "done"]]
    assert ended.turn.outcome == "silent"


@pytest.mark.spec("TURN-02", "TURN-04")
async def test_a_fault_in_what_explains_a_step_crashes_the_visit(machine, monkeypatch: pytest.MonkeyPatch):
    def explain(seen):
        if seen.step.row.id == "T12":
            raise ValueError("no explanation")
        return ()

    definition = Definition(machine.table, machine.definition().phases, explain)
    monkeypatch.setattr(machine, "definition", lambda: definition)
    await machine.walk()
    assert machine.path()[-3:] == ["T34", "T25", "T28"]
    assert "no explanation" in machine.exit_of("model_attempt").detail
