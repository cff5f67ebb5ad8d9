"""The table of a reply turn, row by row, and what no table may be."""

import pytest

from phasewalk.machine.errors import TableError
from phasewalk.machine.guards import GUARDS
from phasewalk.machine.table import Row, Table
from phasewalk.machine.turn_table import TURN_TABLE

THINK = (
    "received", "classify", "freeze_contract", "build_prompt", "model_attempt", "tool_rounds", "validate_envelope",
)  # fmt: skip
EXPECTED = """
T01 | received          | admitted                | | classify
T02 | received          | short_path_matched      | | record
T03 | received          | admission_refused       | | deliver
T04 | classify          | classified              | | freeze_contract
T05 | freeze_contract   | contract_frozen         | | build_prompt
T06 | freeze_contract   | requirement_unavailable | | deliver
T07 | freeze_contract   | request_unclear         | | deliver
T08 | build_prompt      | prompt_built            | | model_attempt
T09 | build_prompt      | prompt_too_large        | | deliver
T10 | model_attempt     | tools_requested | tools_were_offered | tool_rounds
T11 | model_attempt     | tools_requested         | | validate_envelope
T12 | model_attempt     | output_received         | | validate_envelope
T13 | model_attempt     | attempt_failed | context_overflowed, no_side_effects, not_shrunk_yet, before_deadline | build_prompt
T14 | model_attempt     | attempt_failed | retry_allowed, attempts_left, delay_fits_deadline | model_attempt
T15 | model_attempt     | attempt_failed | fallback_allowed, no_side_effects, before_deadline, candidate_left | model_attempt
T16 | model_attempt     | attempt_failed          | | deliver
T17 | model_attempt     | no_candidate            | | deliver
T18 | tool_rounds       | results_ready           | | model_attempt
T19 | validate_envelope | envelope_accepted | superseded | record
T20 | validate_envelope | envelope_accepted | has_something_to_deliver | deliver
T21 | validate_envelope | envelope_accepted       | | record
T22 | validate_envelope | envelope_rejected | attempts_left, delay_fits_deadline | model_attempt
T23 | validate_envelope | envelope_rejected | no_side_effects, before_deadline, candidate_left | model_attempt
T24 | validate_envelope | envelope_rejected       | | deliver
T25 | deliver           | delivered               | | record
T26 | deliver           | delivery_failed         | | record
T27 | deliver           | delivery_in_doubt       | | record
T28 | record            | recorded                | | done
T30 | THINK             | deadline_passed         | | deliver
T31 | deliver           | deadline_passed         | | record
T32 | THINK             | cancelled               | | deliver
T33 | deliver           | cancelled               | | record
T34 | THINK             | crashed                 | | deliver
T35 | deliver           | crashed                 | | record
T36 | record            | crashed                 | | done
T40 | THINK             | interrupted | nothing_intended, claims_left, recent_enough | received
T41 | THINK             | interrupted             | | deliver
T42 | deliver           | interrupted             | | deliver
T43 | record            | interrupted             | | record
"""
ROWS = [[cell.strip() for cell in line.split("|")] for line in EXPECTED.strip().splitlines()]


@pytest.mark.spec("TURN-01", "TURN-02")
@pytest.mark.parametrize(("number", "row"), list(enumerate(ROWS)), ids=[row[0] for row in ROWS])
def test_the_row_stands_in_its_place(number: int, row: list[str]):
    row_id, source, event, guards, target = row
    sources = THINK if source == "THINK" else (source,)
    expected = (row_id, sources, (event,), tuple(guards.split(", ")) if guards else (), target)
    found = TURN_TABLE.rows[number]
    assert (found.id, found.sources, found.events, found.guards, found.target) == expected


def test_there_are_no_further_rows():
    assert len(TURN_TABLE.rows) == len(ROWS) == 39


def test_the_rows_that_lead_to_a_model_call_say_why_it_is_made():
    causes = {row.id: str(row.cause) for row in TURN_TABLE.rows if row.cause is not None}
    assert causes == {
        "T13": "shrunk",
        "T14": "retry",
        "T15": "fallback",
        "T18": "tool_results",
        "T22": "retry",
        "T23": "fallback",
    }


@pytest.mark.spec("TURN-01")
def test_every_guard_of_the_table_is_a_function_and_every_function_is_used():
    assert {guard for row in TURN_TABLE.rows for guard in row.guards} == set(GUARDS)


def test_a_table_knows_its_rows_by_id_and_its_events():
    assert TURN_TABLE.by_id["T28"].target == "done"
    assert TURN_TABLE.events[:3] == ("admitted", "short_path_matched", "admission_refused")
    assert TURN_TABLE.events_of("record") == {"recorded", "crashed", "interrupted"}
    assert TURN_TABLE.events_of("done") == frozenset()


def rows(*more: Row, without: str = "") -> tuple[Row, ...]:
    """A small sound table: begin, then record, then done."""
    sound = (
        Row("A1", "begin", "worked", (), "record"),
        Row("A2", "begin", ("deadline_passed", "cancelled"), (), "record"),
        Row("A3", "begin", "crashed", (), "record"),
        Row("A4", "begin", "interrupted", (), "begin"),
        Row("A5", "record", ("recorded", "crashed"), (), "done"),
        Row("A6", "record", "interrupted", (), "record"),
    )
    return tuple(row for row in (*sound, *more) if row.id != without)


def small(*more: Row, without: str = "", phases: tuple[str, ...] = ("begin", "record")) -> Table:
    return Table("small", phases, rows(*more, without=without), initial="begin")


def all_interruptions(phase: str, target: str) -> Row:
    return Row(f"X-{phase}", phase, ("worked", "deadline_passed", "cancelled", "crashed", "interrupted"), (), target)


def test_a_sound_table_is_accepted():
    assert small().events == ("worked", "deadline_passed", "cancelled", "crashed", "interrupted", "recorded")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        pytest.param(
            lambda: small(all_interruptions("island", "record"), phases=("begin", "island", "record")),
            "table 'small': never reached: island",
            id="unreachable phase",
        ),
        pytest.param(
            lambda: small(
                Row("B1", "begin", "strayed", (), "trap"),
                all_interruptions("trap", "trap"),
                phases=("begin", "trap", "record"),
            ),
            "table 'small': cannot reach 'done': trap",
            id="endless phase",
        ),
        pytest.param(
            lambda: small(Row("B1", "done", "revived", (), "begin")),
            "table 'small', row B1: 'done' is final and has no rows",
            id="row out of the end",
        ),
        pytest.param(
            lambda: small(Row("B2", "begin", ("deadline_passed",), (), "record"), without="A2"),
            "table 'small': 'begin' has no row for cancelled",
            id="no row for cancelled",
        ),
        pytest.param(
            lambda: small(Row("B2", "begin", ("cancelled",), (), "record"), without="A2"),
            "table 'small': 'begin' has no row for deadline_passed",
            id="no row for deadline_passed",
        ),
        pytest.param(
            lambda: small(without="A3"), "table 'small': 'begin' has no row for crashed", id="no row for crashed"
        ),
        pytest.param(
            lambda: small(without="A6"),
            "table 'small': 'record' has no row for interrupted",
            id="no row for interrupted, in a shielded phase",
        ),
        pytest.param(
            lambda: small(Row("B1", "begin", "strayed", "open", "record")),
            "table 'small': the last row of (begin, strayed), B1, is guarded",
            id="last row guarded",
        ),
        pytest.param(
            lambda: small(Row("B1", "begin", "worked", "open", "begin"), Row("B2", "begin", "worked", (), "begin")),
            "table 'small': rows after A1 of (begin, worked) are never tried",
            id="dead row",
        ),
        pytest.param(
            lambda: small(Row("A1", "begin", "strayed", (), "record")),
            "table 'small': row ids used twice: A1",
            id="id twice",
        ),
        pytest.param(
            lambda: small(Row("B1", "begin", "strayed", (), "nowhere")),
            "table 'small', row B1: unknown phases nowhere",
            id="unknown target",
        ),
        pytest.param(
            lambda: small(Row("B1", ("begin", "nowhere"), "strayed", (), "record")),
            "table 'small', row B1: unknown phases nowhere",
            id="unknown source",
        ),
    ],
)
def test_an_unsound_table_cannot_be_made(build, message: str):
    with pytest.raises(TableError) as caught:
        build()
    assert str(caught.value) == message


def test_equal_tables_have_equal_digests_and_a_changed_one_another():
    assert small().digest == small().digest
    assert small().digest != small(Row("B1", "begin", "strayed", (), "record")).digest
