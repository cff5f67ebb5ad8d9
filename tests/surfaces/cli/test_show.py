"""`phasewalk show`: what happened in a turn, one line a visit."""

import re

import pytest
from builders import GONE, LogBuilder


def walked(builder: LogBuilder) -> str:
    """A turn with a failed call, a guard that refused, a fallback, a tool round and an answer."""
    turn = builder.turn(
        text="note: buy milk", took=8.0, trigger_message_id="1100000000000000042", first_reason="http_5xx"
    )
    builder.enter(turn, "received", 0)
    builder.leave(turn, "received", 0.001, "T01 admitted", "model_attempt")
    builder.enter(turn, "model_attempt", 0.001, detail={"cause": "first", "tools_offered": ["notes_add"]})
    builder.leave(
        turn, "model_attempt", 1.5, "T15 attempt_failed", "model_attempt", reason="http_5xx",
        guards=[
            {"transition": "T14", "name": "attempts_left", "held": False, "values": {"failures": 3, "attempts": 3}},
            {"transition": "T15", "name": "candidate_left", "held": True, "values": {}},
        ],
    )  # fmt: skip
    builder.enter(turn, "model_attempt", 4.0, visit=2)
    builder.leave(turn, "model_attempt", 5.0, "T10 tools_requested", "tool_rounds", visit=2)
    builder.enter(turn, "tool_rounds", 5.0)
    builder.leave(turn, "tool_rounds", 6.0, "T18 results_ready", "deliver")
    builder.enter(turn, "deliver", 6.0)
    builder.leave(turn, "deliver", 8.0, "T25 delivered", "done")
    builder.enter(turn, "done", 8.0)
    builder.attempt(
        turn, 1, status="failed", reason="http_5xx", http_status=503, message="overloaded", retry_after_ms=2000
    )
    builder.attempt(turn, 2, cause="fallback", provider="two", model="m-two")
    builder.step(turn, 1, "skipped no_model", "FB-11: no model", {"task": "vision", "time_left": 358.5})
    builder.step(turn, 2, "taken ok", "FB-10: next in order", {})
    builder.insert(
        "tool_call", turn_id=turn, round=1, call_id="call-1", provider_call_id="x", name="notes_add", effect="mutating",
        status="ok", started_us=1_000_000, ended_us=1_250_000, arguments_digest=builder.payload('{"text": "milk"}'),
        result_digest=builder.payload('{"added": 1}'),
    )  # fmt: skip
    builder.effect(turn, "tool", "notes_add", "receipt")
    builder.effect(turn, "answer", "general", "receipt", {"text": "Kept.\nAs note 1."})
    return turn


SHOWN = """\
turn TURN  answered, ok: everything that was due reached its target
  user turn of mira in #general, direct, message 1100000000000000042
  WHEN UTC, took 8.0 s
  first failure http_5xx: the provider answered with a 5xx status
  asked     note: buy milk
  answer    Kept.
            As note 1.

  +0.000  received            T01 admitted -> model_attempt              1.0 ms
  +0.001  model_attempt       T15 attempt_failed -> model_attempt         1.5 s
            reason http_5xx
            T14 attempts_left: no (failures: 3, attempts: 3)
          (a gap of 2.5 s)
  +4.000  model_attempt 2     T10 tools_requested -> tool_rounds          1.0 s
  +5.000  tool_rounds         T18 results_ready -> deliver                1.0 s
  +6.000  deliver             T25 delivered -> done                       2.0 s

  model     1. first: one/m-one failed, http_5xx, http 503, retry after 2.0 s, 1.0 s
               overloaded
            2. fallback: two/m-two ok, 1.0 s
  fallback  skipped two/m-two: no_model
               FB-11: no model (task: vision, time_left: 358.5)
            taken two/m-two: ok
  tools     notes_add (mutating) ok, 250 ms
  effects   tool done: notes_add
            answer done: general
"""


@pytest.mark.spec("OPS-14", "TURN-01")
def test_a_turn_is_told_in_order_with_everything_that_was_decided(builder: LogBuilder, look):
    turn = walked(builder)
    answer = look("show", turn, "--utc")
    told = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "WHEN", answer.out.replace(turn, "TURN"))
    assert (answer.status, told, answer.err) == (0, SHOWN, "")
    assert max(map(len, answer.lines)) <= 80 + len(", retry after 2.0 s")  # the walk itself fits a terminal


def test_the_contract_is_told(builder: LogBuilder, look):
    contract = (
        '{"selection":"families","families":["notes"],"required":["notes_add"],"offered":["notes_add","notes_list"],'
        '"candidates":[{"provider":"one","model":"m-one"},{"provider":"two","model":"m-two"}]}'
    )
    builder.insert("contract", hash="c1", body=contract, first_seen_us=1)
    turn = builder.turn(contract_hash="c1")
    out = look("show", turn).out
    assert "contract  about notes; offered notes_add, notes_list, required notes_add\n" in out
    assert "candidates one/m-one, two/m-two\n" in out
    assert look("show", turn, "--json").items[0]["contract"]["hash"] == "c1"


@pytest.mark.spec("OPS-14")
def test_a_running_turn_says_what_it_is_in_since_when_and_until_when(builder: LogBuilder, look):
    turn = builder.turn(age=300, outcome=None, phase="model_attempt")
    builder.enter(turn, "model_attempt", 60)
    out = look("show", turn, "--utc").out
    assert f"turn {turn}  running\n" in out
    assert re.search(r"  not ended: in model_attempt since \S+ \S+ \(4 min( \d+ s)? ago\)\n", out)
    assert re.search(r"  process \d+ on \S+; deadline in (59|60|1 min)", out)
    assert "+0.000  model_attempt       ...\n" in out


def test_a_turn_whose_process_was_killed_says_so(builder: LogBuilder, look):
    builder.process(pid=GONE, silent=120)
    turn = builder.turn(outcome=None, phase="tool_rounds")
    builder.enter(turn, "tool_rounds", 0)
    answer = look("show", turn)
    assert f"  stuck by process_gone: its process {GONE} on " in answer.out
    assert answer.status == 0
    assert look("show", turn, "--json").items[0]["stuck"]["rule"] == "process_gone"


def test_a_crash_is_told_with_its_error(builder: LogBuilder, look):
    turn = builder.turn(outcome="stopped", reason="internal_error", phase="classify")
    builder.enter(turn, "classify", 0)
    builder.leave(
        turn, "classify", 1, "T34 crashed", "deliver", reason="internal_error",
        detail={"error": "ValueError", "message": "no such \x1b[31mthing"},
    )  # fmt: skip
    out = look("show", turn).out
    assert r"reason internal_error: ValueError: no such \x1b[31mthing" in out
    assert "  arose in classify\n" in out


@pytest.mark.spec("OPS-14")
def test_an_object_holds_every_section_and_no_payloads_unless_asked(builder: LogBuilder, look):
    turn = walked(builder)
    (item,) = look("show", turn, "--json").items
    assert (item["turn_id"], item["outcome"], item["question"]) == (turn, "answered", "note: buy milk")
    assert [visit["phase"] for visit in item["visits"]] == [
        "received", "model_attempt", "model_attempt", "tool_rounds", "deliver",
    ]  # fmt: skip
    assert item["attempts"][0]["first_failure"] is True
    assert item["effects"][1]["target"] == "general"
    assert item["payloads"] is None
    (detailed,) = look("show", turn, "--json", "--detail").items
    assert detailed.keys() == item.keys()
    assert {p["what"]: p["text"] for p in detailed["payloads"]}["call-1 arguments"] == '{"text": "milk"}'


@pytest.mark.spec("OPS-14")
def test_running_and_ended_turns_have_the_same_keys(builder: LogBuilder, look):
    ended, running = builder.turn(), builder.turn(outcome=None, phase="classify")
    a, b = look("show", ended, running, "--json").items
    assert a.keys() == b.keys()


def test_detail_adds_the_texts_behind_the_rows(builder: LogBuilder, look):
    turn = walked(builder)
    long = builder.payload("You are helper.\nBe brief.")
    builder.enter(turn, "build_prompt", 9)
    builder.leave(turn, "build_prompt", 9, "T08 prompt_built", "model_attempt", detail={"persona": {"payload": long}})
    out = look("show", turn, "--detail").out
    assert '\ncall-1 arguments\n  {"text": "milk"}\n' in out
    assert '\nbuild_prompt 1, exit\n  {\n    "persona": "You are helper.\\nBe brief."\n  }\n' in out
    assert "You are helper" not in look("show", turn).out


@pytest.mark.spec("OPS-13", "LOG-03")
def test_lost_rows_make_the_answer_incomplete(builder: LogBuilder, look):
    turn = builder.turn(log_gap=2)
    builder.insert("log_loss", at_us=1, turn_id=turn, rows=2, what="database is full")
    for options in ([], ["--json"]):
        answer = look("show", turn, *options)
        assert answer.status == 5
        assert answer.err == (
            f"phasewalk: turn {turn} is incomplete: 2 rows were lost when the log could not be written\n"
        )
    assert "  lost      database is full\n" in look("show", turn).out


@pytest.mark.spec("OPS-13")
def test_a_pruned_text_makes_the_answer_incomplete_only_where_it_is_asked_for(builder: LogBuilder, look):
    turn = walked(builder)
    builder.prune(builder.payload('{"added": 1}'))
    assert look("show", turn).status == 0
    answer = look("show", turn, "--detail")
    assert (answer.status, answer.err) == (5, f"phasewalk: turn {turn} is incomplete: 1 texts were pruned\n")
    assert "call-1 result\n  (pruned)\n" in answer.out


@pytest.mark.spec("OPS-13")
def test_a_pruned_question_is_told(builder: LogBuilder, look):
    turn = builder.turn(text="hello again")
    builder.prune(builder.payload("hello again"))
    answer = look("show", turn)
    assert answer.status == 5
    assert "  asked     (pruned)\n" in answer.out


@pytest.mark.spec("OPS-14")
def test_several_turns_are_told_one_after_another(builder: LogBuilder, look):
    first, second = builder.turn(), builder.turn()
    answer = look("show", first, second)
    assert [line.split()[1] for line in answer.lines if line.startswith("turn ")] == [first, second]
    jsonl = look("show", first, second, "--jsonl")
    assert len(jsonl.lines) == 2


@pytest.mark.spec("OPS-13")
def test_without_a_turn_it_is_a_usage_error(look):
    assert look("show").status == 2


@pytest.mark.spec("CON-28", "ENV-26")
def test_an_effect_that_failed_says_why(builder: LogBuilder, look):
    turn = builder.turn()
    builder.effect(turn, "picture", "general", "failed", {"picture": "a fox"}, why={"reason": "http_4xx"})
    assert "picture failed: general, http_4xx\n" in look("show", turn).out
