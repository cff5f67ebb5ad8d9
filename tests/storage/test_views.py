"""Each view answers its question on a small log."""

import json
import sqlite3

import pytest

from phasewalk.machine import records
from phasewalk.machine.documents import payload_of
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.reasons import Reason
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.machine.words import Cause, Decision, Outcome
from phasewalk.storage.guide import described

VIEWS = (
    "effects", "effects_in_doubt", "stuck_turns", "turn_timeline", "attempt_tree", "fallback_stops", "silent_turns",
    "failure_groups", "transition_heat", "log_coverage",
)  # fmt: skip


def intended(effect_id: str, kind: EffectKind = EffectKind.ANSWER, at: int = 1) -> records.EffectIntended:
    return records.EffectIntended(effect_id, kind, f"key:{effect_id}", "general", at)


def settled(effect_id: str, kind: str, detail: str | None = None, at: int = 2) -> records.EffectSettled:
    return records.EffectSettled(effect_id, kind, at, detail)


def changed(log, *statements: str) -> None:
    other = log.other()
    for statement in statements:
        other.execute(statement)
    other.close()


@pytest.mark.spec("LOG-06")
@pytest.mark.parametrize("view", VIEWS)
async def test_a_view_can_be_asked_of_an_empty_log(log, view: str):
    assert log.rows(f"SELECT * FROM {view}") == [] or view in ("log_coverage", "transition_heat")


@pytest.mark.spec("LOG-06")
@pytest.mark.parametrize("view", VIEWS)
async def test_every_instant_of_a_view_stands_there_as_text_too(log, view: str):
    columns = {row[1] for row in log.rows(f"PRAGMA table_xinfo({view})")}
    instants = {column for column in columns if column.endswith("_us")}
    assert {column.removesuffix("_us") for column in instants} <= columns


@pytest.mark.spec("LOG-06")
@pytest.mark.parametrize("table", described())
async def test_every_instant_of_a_table_stands_there_as_text_too(log, table: str):
    columns = {row[1] for row in log.rows(f"PRAGMA table_xinfo({table})")}
    instants = {column for column in columns if column.endswith("_us")}
    assert {column.removesuffix("_us") for column in instants} <= columns


@pytest.mark.spec("LOG-06", "CON-22")
async def test_effects_shows_the_present_state_of_each_effect(log):
    await log.turn(
        "turn-1",
        *(intended(name) for name in ("open", "sent", "failed", "found", "lost")),
        settled("sent", "receipt", '{"receipt":"9"}'),
        settled("failed", "failed"),
        settled("found", "resolved", '{"state":"done"}'),
        settled("lost", "resolved", '{"state":"failed"}'),
    )
    states = dict(log.rows("SELECT effect_id, state FROM effects"))
    assert states == {"open": "intended", "sent": "done", "failed": "failed", "found": "done", "lost": "failed"}
    assert log.rows("SELECT intended_us, settled_us, settled_detail FROM effects WHERE effect_id = 'sent'") == [
        (1, 2, '{"receipt":"9"}')
    ]
    assert log.rows("SELECT settled_us, settled FROM effects WHERE effect_id = 'open'") == [(None, None)]


@pytest.mark.spec("LOG-06")
async def test_an_intent_without_a_receipt_is_in_doubt_once_its_turn_has_ended(log):
    turn = await log.turn("turn-1", intended("e1"), intended("e2"), settled("e2", "receipt"))
    assert log.rows("SELECT effect_id FROM effects_in_doubt") == []
    await turn.write(log.ended(Outcome.IN_DOUBT, Reason.DELIVERY_IN_DOUBT))
    assert log.rows("SELECT effect_id, turn_id, kind, target, state FROM effects_in_doubt") == [
        ("e1", "turn-1", "answer", "general", "in_doubt")
    ]


@pytest.mark.spec("LOG-06")
async def test_a_turn_that_walks_is_not_stuck(log):
    await log.turn("turn-1")
    await log.turn("turn-2", log.ended())
    assert log.rows("SELECT * FROM stuck_turns") == []


SECONDS_AGO = "(SELECT CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER) - {} * 1000000)"


@pytest.mark.spec("LOG-06")
@pytest.mark.parametrize(
    ("statement", "rule", "value", "threshold"),
    [
        pytest.param(
            "UPDATE process SET ended_us = 1, end_reason = 'finished'", "process_gone", 0, 0, id="process ended"
        ),
        pytest.param(
            "INSERT INTO process (host, pid, command, version, started_us, heartbeat_us)"
            " SELECT host, pid, 'bot', '0', started_us + 1, heartbeat_us FROM process",
            "process_gone",
            0,
            0,
            id="another process got its number",
        ),
        pytest.param(
            f"UPDATE process SET heartbeat_us = {SECONDS_AGO.format(200)}",
            "heartbeat_lost",
            200,
            180,
            id="no heartbeat",
        ),
        pytest.param(
            f"UPDATE turn SET deadline_us = {SECONDS_AGO.format(40)}",
            "deadline_passed",
            40,
            35,
            id="past its deadline",
        ),
        pytest.param(
            f"UPDATE phase_event SET budget_ms = 1000, at_us = {SECONDS_AGO.format(60)}",
            "phase_over_budget",
            59,
            35,
            id="past the budget of its phase",
        ),
    ],
)
async def test_stuck_turns_names_the_rule(log, statement: str, rule: str, value: int, threshold: int):
    await log.turn("turn-1")
    await log.turn("turn-2", log.ended())
    changed(log, statement)
    found = log.rows("SELECT turn_id, phase, rule, value, threshold, pid FROM stuck_turns")
    assert [(turn_id, phase, name, limit) for turn_id, phase, name, _, limit, _ in found] == [
        ("turn-1", "received", rule, threshold)
    ]
    assert value <= found[0][3] < value + 20


@pytest.mark.spec("LOG-06")
@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE process SET heartbeat_us = {SECONDS_AGO.format(150)}",
        f"UPDATE turn SET deadline_us = {SECONDS_AGO.format(15)}",
        f"UPDATE phase_event SET budget_ms = 1000, at_us = {SECONDS_AGO.format(15)}",
        "UPDATE phase_event SET budget_ms = NULL, at_us = 1",
    ],
)
async def test_within_its_margins_a_turn_is_not_stuck(log, statement: str):
    await log.turn("turn-1")
    changed(log, statement)
    assert log.rows("SELECT * FROM stuck_turns") == []


@pytest.mark.spec("LOG-06")
async def test_stuck_since_is_the_entry_of_the_present_visit(log):
    turn = await log.turn("turn-1", log.exited(2, "received", "admitted", "T01", "classify"))
    await log.clock.advance(5.0)
    await turn.write(log.moved("classify"), log.entered(3, "classify"))
    changed(log, "UPDATE process SET ended_us = 1, end_reason = 'finished'")
    assert log.rows("SELECT phase, since_us FROM stuck_turns") == [("classify", log.clock.now_us())]


@pytest.mark.spec("LOG-06")
async def test_turn_timeline_tells_the_order_with_offsets_and_durations(log):
    await log.turn(
        "turn-1",
        log.exited(2, "received", "admitted", "T01", "classify", mono_ns=3_500_000),
        log.entered(3, "classify", mono_ns=4_000_000),
        log.exited(4, "classify", "classified", "T04", "freeze_contract", mono_ns=9_000_000),
    )
    assert log.rows(
        "SELECT seq, phase, kind, event, transition, offset_ms, took_ms FROM turn_timeline ORDER BY seq"
    ) == [
        (1, "received", "enter", None, None, 0.0, None),
        (2, "received", "exit", "admitted", "T01", 2.5, 2.5),
        (3, "classify", "enter", None, None, 3.0, None),
        (4, "classify", "exit", "classified", "T04", 8.0, 5.0),
    ]


@pytest.mark.spec("LOG-06")
async def test_attempt_tree_shows_the_first_failure_as_well_as_the_last(log):
    def attempt(n: int, cause: Cause, status: str, reason: Reason | None, message: str | None) -> list:
        return [
            records.AttemptStarted(n, cause, "one", "m", "chat", n * 1000, "wire"),
            records.AttemptEnded(n, status, reason, n * 1000 + 500, message=message),
        ]

    await log.turn(
        "turn-1",
        *attempt(1, Cause.FIRST, "ok", None, None),
        *attempt(2, Cause.TOOL_RESULTS, "failed", Reason.HTTP_5XX, "503"),
        *attempt(3, Cause.RETRY, "failed", Reason.TIMED_OUT, "late"),
        *attempt(4, Cause.FALLBACK, "ok", None, None),
    )
    rows = log.rows(
        "SELECT n, after_n, cause, status, reason, message, took_ms, first_failure FROM attempt_tree ORDER BY n"
    )
    assert rows == [
        (1, None, "first", "ok", None, None, 0.5, 0),
        (2, 1, "tool_results", "failed", "http_5xx", "503", 0.5, 1),
        (3, 2, "retry", "failed", "timed_out", "late", 0.5, 0),
        (4, 3, "fallback", "ok", None, None, 0.5, 0),
    ]


@pytest.mark.spec("LOG-06", "FB-14")
async def test_fallback_stops_tells_who_refused_what_and_how_much_time_was_left(log):
    def step(n: int, decision: Decision, reason: Reason, rule: str, **values: object) -> records.FallbackConsidered:
        return records.FallbackConsidered(n, 5, "two", "m", decision, reason, rule, json.dumps(values))

    await log.turn(
        "turn-1",
        step(1, Decision.SKIPPED, Reason.NO_MODEL, "FB-11"),
        step(2, Decision.TAKEN, Reason.OK, "FB-10"),
        step(3, Decision.REFUSED, Reason.SIDE_EFFECTS, "T15.no_side_effects", time_left=12.5, effects=["tool"]),
        log.ended(Outcome.PARTIAL, Reason.SIDE_EFFECTS),
    )
    await log.turn(
        "turn-2", step(1, Decision.EXHAUSTED, Reason.ATTEMPTS_EXHAUSTED, "T15.candidate_left", time_left=3.0)
    )
    assert log.rows(
        "SELECT turn_id, step, decision, reason, rule, time_left, outcome, turn_reason FROM fallback_stops ORDER BY turn_id"
    ) == [
        ("turn-1", 3, "refused", "side_effects", "T15.no_side_effects", 12.5, "partial", "side_effects"),
        ("turn-2", 1, "exhausted", "attempts_exhausted", "T15.candidate_left", 3.0, None, None),
    ]


@pytest.mark.spec("LOG-06")
async def test_silent_turns_are_those_of_people_who_spoke_to_the_bot_and_got_nothing(log):
    nothing = log.ended(Outcome.STOPPED, Reason.LOG_WRITE_FAILED)
    await log.turn("nothing", nothing)
    await log.turn("note-to-staff", intended("e1", EffectKind.STAFF_NOTE), settled("e1", "receipt"), nothing)
    await log.turn("failed", intended("e2"), settled("e2", "failed"), nothing)
    await log.turn("doubtful", intended("e3"), nothing)
    await log.turn("answered", intended("e4"), settled("e4", "receipt"), log.ended())
    await log.turn("noticed", intended("e5", EffectKind.NOTICE), settled("e5", "receipt"), nothing)
    await log.turn("overheard", nothing, addressed=None)
    await log.turn("archived", log.ended(Outcome.SHORT_PATH, Reason.SHORT_PATH))
    await log.turn("running")
    silent = {row[0] for row in log.rows("SELECT turn_id FROM silent_turns")}
    assert silent == {"nothing", "note-to-staff", "failed", "doubtful"}
    assert log.rows("SELECT user_name, reason, reason_phase FROM silent_turns WHERE turn_id = 'nothing'") == [
        ("ann", "log_write_failed", "record")
    ]


@pytest.mark.spec("LOG-06")
async def test_failure_groups_counts_distinct_failures_and_the_people_behind_them(log):
    stopped = {"outcome": Outcome.STOPPED, "reason": Reason.CANDIDATES_EXHAUSTED, "reason_phase": "model_attempt"}
    await log.turn("turn-1", log.ended(**stopped, first_reason=Reason.HTTP_5XX), user_id="7")
    await log.turn("turn-2", log.ended(**stopped, first_reason=Reason.HTTP_5XX), user_id="7")
    await log.turn("turn-3", log.ended(**stopped, first_reason=Reason.HTTP_5XX), user_id="8")
    await log.turn("turn-4", log.ended(**stopped, first_reason=Reason.TIMED_OUT), user_id="8")
    await log.turn("turn-5", log.ended())
    assert log.rows("SELECT reason, first_reason, turns, people FROM failure_groups ORDER BY turns DESC") == [
        ("candidates_exhausted", "http_5xx", 3, 2),
        ("candidates_exhausted", "timed_out", 1, 1),
    ]


@pytest.mark.spec("LOG-06")
async def test_transition_heat_counts_every_row_of_the_table_also_those_never_used(log):
    await log.turn("turn-1", log.exited(2, "received", "admitted", "T01", "classify", at_us=77))
    await log.turn("turn-2", log.exited(2, "received", "admitted", "T01", "classify", at_us=99))
    await log.turn("turn-3", log.exited(2, "classify", "crashed", "T34", "deliver"))
    heat = log.rows("SELECT transition, from_phase, event, to_phase, count, last_us FROM transition_heat")
    table = {
        (row.id, source, event, row.target) for row in TURN_TABLE.rows for source in row.sources for event in row.events
    }
    assert {row[:4] for row in heat} == table
    assert len(heat) == len(table)
    used = {row[:2]: row[4] for row in heat if row[4]}
    assert used == {("T01", "received"): 2, ("T34", "classify"): 1}
    assert next(row[5] for row in heat if row[0] == "T01") == 99


@pytest.mark.spec("LOG-06")
async def test_transition_heat_speaks_of_the_newest_table_of_each_machine(log):
    body = json.dumps({"name": "turn", "rows": [{"id": "T99", "from": ["a"], "event": ["b"], "to": "c"}]})
    changed(log, f"INSERT INTO machine (hash, name, body, first_seen_us) VALUES ('new', 'turn', '{body}', 9e18)")
    assert log.rows("SELECT machine, transition, count FROM transition_heat") == [("turn", "T99", 0)]


@pytest.mark.spec("LOG-06")
async def test_log_coverage_tells_the_period_and_what_is_missing(log):
    assert log.rows("SELECT from_us, to_us, turns, pruned_before_us, payloads_pruned, rows_lost FROM log_coverage") == [
        (None, None, 0, None, 0, 0)
    ]
    first = log.clock.now_us()
    await log.turn("turn-1", log.entered(2, payloads=(payload_of("kept"),)))
    await log.clock.advance(90.0)
    await log.turn("turn-2")
    changed(
        log,
        "INSERT INTO prune_log (at_us, what, before_us, rows) VALUES (5, 'payloads', 1000000, 3)",
        "INSERT INTO log_loss (at_us, rows, what) VALUES (5, 4, 'busy')",
        "UPDATE payload SET body = NULL, pruned_us = 5 WHERE chars = 4",
    )
    assert log.rows(
        "SELECT from_us, to_us, turns, pruned_before_us, pruned_before, payloads_pruned, rows_lost FROM log_coverage"
    ) == [(first, first + 90_000_000, 2, 1_000_000, "1970-01-01T00:00:01.000Z", 1, 4)]


@pytest.mark.spec("LOG-06")
async def test_a_copy_of_the_file_answers_in_plain_sqlite(log, tmp_path):
    await log.turn("turn-1", log.ended(Outcome.STOPPED, Reason.INTERNAL_ERROR))
    copy = sqlite3.connect(tmp_path / "copy.db")
    log.reader.backup(copy)
    assert copy.execute("SELECT turn_id, reason FROM silent_turns").fetchall() == [("turn-1", "internal_error")]
    copy.close()
