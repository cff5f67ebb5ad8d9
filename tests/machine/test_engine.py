"""The engine takes the first row whose guards hold, and says what it asked."""

import asyncio

import pytest

from phasewalk.machine.definition import Definition
from phasewalk.machine.engine import Engine, Verdict
from phasewalk.machine.errors import IllegalEventError, TableError
from phasewalk.machine.guards import GUARDS
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.records import PhaseExited
from phasewalk.machine.table import Row, Table
from phasewalk.machine.turn_table import TURN_TABLE

YES = {name: lambda _asked: Verdict(held=True) for name in GUARDS}
NO = {name: lambda _asked: Verdict(held=False) for name in GUARDS}
PAIRS = [(phase, event) for phase in (*TURN_TABLE.phases, "done") for event in TURN_TABLE.events]
WITH_A_ROW = [pair for pair in PAIRS if pair in TURN_TABLE.by_phase_and_event]
WITHOUT = [pair for pair in PAIRS if pair not in TURN_TABLE.by_phase_and_event]


@pytest.mark.spec("TURN-02")
@pytest.mark.parametrize(("phase", "event"), WITH_A_ROW)
def test_an_event_with_rows_takes_the_first_that_holds(phase: str, event: str):
    rows = TURN_TABLE.by_phase_and_event[phase, event]
    assert Engine(TURN_TABLE, YES).step("t", phase, event, None).row is rows[0]
    assert Engine(TURN_TABLE, NO).step("t", phase, event, None).row is rows[-1]


@pytest.mark.spec("TURN-02")
@pytest.mark.parametrize(("phase", "event"), WITHOUT)
def test_an_event_without_a_row_is_refused_by_name(phase: str, event: str):
    with pytest.raises(IllegalEventError) as caught:
        Engine(TURN_TABLE, YES).step("turn-9", phase, event, None)
    assert (caught.value.turn_id, caught.value.phase, caught.value.event) == ("turn-9", phase, event)
    assert str(caught.value) == f"turn turn-9: phase {phase!r} cannot take event {event!r}: the table has no row for it"


def test_every_pair_of_phase_and_event_is_tried():
    assert len(WITH_A_ROW) + len(WITHOUT) == 10 * 24


@pytest.mark.spec("TURN-02")
def test_an_event_that_no_table_knows_is_refused():
    with pytest.raises(IllegalEventError, match="phase 'received' cannot take event 'exploded'"):
        Engine(TURN_TABLE, YES).step("t", "received", "exploded", None)


@pytest.mark.spec("TURN-02")
def test_an_event_whose_rows_all_refuse_is_an_error_that_names_the_guards():
    table = Table("t", ("begin",), (Row("A1", "begin", "go", ("first", "second"), "done"),), "begin", shielded=())
    with pytest.raises(IllegalEventError) as caught:
        Engine(table, {"first": lambda _: Verdict(held=True), "second": lambda _: Verdict(held=False)}).step(
            "t", "begin", "go", None
        )
    assert str(caught.value) == "turn t: phase 'begin' cannot take event 'go': every row refused (A1.second)"


@pytest.fixture(autouse=True)
def _unchecked_small_tables(monkeypatch: pytest.MonkeyPatch):
    """Tables of one row stand for one question here; that they are unsound is another test's matter."""
    check = Table.check
    monkeypatch.setattr(Table, "check", lambda table: None if table.name == "t" else check(table))


@pytest.mark.spec("TURN-02")
@pytest.mark.parametrize("event", ["results_ready", "exploded"])
async def test_a_refused_event_leaves_turn_and_log_as_they_were(machine, event: str):
    log = machine.log
    claimed = await log.open(_opened(), "token")
    before = list(log.rows)
    engine = machine.definition().engine
    with pytest.raises(IllegalEventError):
        engine.step("turn-1", "received", event, None)
    assert claimed is not None
    assert log.rows == before
    assert engine.step("turn-1", "received", "admitted", None).row.id == "T01"


def _opened():
    class Opened:
        trigger_key, turn_id = "k", "turn-1"

    return Opened()


@pytest.mark.spec("TURN-01")
def test_every_guard_asked_is_told_in_the_order_of_the_table_with_its_values():
    answers = {
        **YES,
        "context_overflowed": lambda _: Verdict(False, {"kind": "transient"}),
        "retry_allowed": lambda _: Verdict(True, {"rule": "retry"}),
        "attempts_left": lambda _: Verdict(False, {"left": 0}),
    }
    step = Engine(TURN_TABLE, answers).step("t", "model_attempt", "attempt_failed", None)
    assert step.row.id == "T15"
    assert [(g["transition"], g["name"], g["held"], g["values"]) for g in step.guards] == [
        ("T13", "context_overflowed", False, {"kind": "transient"}),
        ("T14", "retry_allowed", True, {"rule": "retry"}),
        ("T14", "attempts_left", False, {"left": 0}),
        ("T15", "fallback_allowed", True, {}),
        ("T15", "no_side_effects", True, {}),
        ("T15", "before_deadline", True, {}),
        ("T15", "candidate_left", True, {}),
    ]


@pytest.mark.spec("TURN-01")
def test_a_guard_that_several_rows_name_is_evaluated_once_a_step():
    asked: list[str] = []

    def counting(name: str, *, held: bool):
        def guard(_asked: object) -> Verdict:
            asked.append(name)
            return Verdict(held)

        return guard

    no = {"not_shrunk_yet", "retry_allowed", "candidate_left"}
    guards = {name: counting(name, held=name not in no) for name in GUARDS}
    step = Engine(TURN_TABLE, guards).step("t", "model_attempt", "attempt_failed", None)
    assert step.row.id == "T16"
    assert [g["name"] for g in step.guards].count("no_side_effects") == 2
    assert asked.count("no_side_effects") == 1


def test_a_table_whose_guard_has_no_function_cannot_be_bound():
    with pytest.raises(TableError, match="table 'turn': no function for guards attempts_left"):
        Engine(TURN_TABLE, {name: guard for name, guard in YES.items() if name != "attempts_left"})


def test_a_machine_needs_a_phase_for_each_phase_of_its_table():
    with pytest.raises(TableError, match="machine 'turn': phases and table differ in build_prompt, classify"):
        Definition(TURN_TABLE, {})


@pytest.mark.spec("TURN-03")
def test_a_phase_may_only_declare_events_that_have_a_row(machine):
    phases = dict(machine.definition().phases)
    phases["record"] = Phase("record", phases["record"].run, {"recorded", "admitted"})
    with pytest.raises(TableError, match="phase 'record' declares events without a row: admitted"):
        Definition(TURN_TABLE, phases)


@pytest.mark.spec("TURN-18")
def test_a_phase_may_only_declare_fields_that_a_turn_has(machine):
    phases = dict(machine.definition().phases)
    phases["record"] = Phase("record", phases["record"].run, {"recorded"}, {"mood"})
    with pytest.raises(TableError, match="phase 'record' declares fields that no turn has: mood"):
        Definition(TURN_TABLE, phases)


@pytest.mark.spec("TURN-01")
def test_a_time_out_raised_inside_a_guard_comes_out_of_the_step():
    def late(_asked: object) -> Verdict:
        raise TimeoutError("a guard must not wait")

    with pytest.raises(TimeoutError, match="a guard must not wait"):
        Engine(TURN_TABLE, {**YES, "superseded": late}).step("t", "validate_envelope", "envelope_accepted", None)


@pytest.mark.spec("TURN-01", "TURN-04")
async def test_a_time_out_raised_inside_a_guard_ends_the_turn_as_crashed(machine, monkeypatch: pytest.MonkeyPatch):
    def late(_asked: object) -> Verdict:
        raise TimeoutError("a guard must not wait")

    definition = machine.definition()
    engine = Engine(TURN_TABLE, {**GUARDS, "superseded": late})
    monkeypatch.setattr(machine, "definition", lambda: _with_engine(definition, engine))
    ended = await machine.walk()
    assert machine.path()[-3:] == ["T34", "T25", "T28"]
    assert machine.exit_of("validate_envelope").detail == '{"error":"TimeoutError","message":"a guard must not wait"}'
    assert (str(ended.turn.outcome), str(ended.turn.reason)) == ("stopped", "internal_error")


def _with_engine(definition: Definition, engine: Engine) -> Definition:
    object.__setattr__(definition, "engine", engine)
    return definition


@pytest.mark.spec("TURN-04")
async def test_a_time_out_raised_inside_a_phase_ends_the_turn_as_crashed(machine):
    machine.script["classify"] = TimeoutError("the phase's own time-out")
    ended = await machine.walk()
    exited = machine.exit_of("classify")
    assert (exited.event, exited.transition, exited.reason) == ("crashed", "T34", "internal_error")
    assert exited.detail == '{"error":"TimeoutError","message":"the phase\'s own time-out"}'
    assert (ended.turn.outcome, ended.turn.reason) == ("stopped", "internal_error")


@pytest.mark.spec("TURN-04")
async def test_a_cancelled_step_does_not_hold_up_the_machine_for_the_next_turn(machine):
    stuck = asyncio.Event()

    async def wait(_turn, _ports):
        await stuck.wait()

    machine.script["classify"] = wait
    runner = machine.runner()
    first = machine.start(runner, key="k:1")
    await machine.clock.advance(1.0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    machine.script["classify"] = Report("classified")
    second = machine.start(runner, key="k:2")
    await machine.clock.run_until(second)
    assert str(second.result().turn.outcome) == "silent"
    assert [r.transition for r in machine.log.of("turn-2") if type(r) is PhaseExited] == [
        "T01", "T04", "T05", "T08", "T12", "T20", "T25", "T28",
    ]  # fmt: skip
