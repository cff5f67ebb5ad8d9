"""`phasewalk status`: the first screen."""

import re

import pytest
from builders import GONE, LogBuilder

DAY = 86_400.0


def answered(builder: LogBuilder, count: int, **columns: object) -> None:
    """So many people who asked and got an answer."""
    for turn in builder.turns(count, **columns):
        builder.effect(turn, "answer", "general", "receipt")


def everything(builder: LogBuilder) -> None:
    """A log in which every line of the screen has something to say, with long words wherever there can be any."""
    builder.process(command="bot", pid=GONE, silent=300)
    outcomes = {
        "answered": "ok", "stopped": "requirement_unavailable", "partial": "side_effects", "undelivered": "ok",
        "expired": "deadline_passed", "abandoned": "claims_exhausted", "silent": "answer_not_needed",
        "short_path": "short_path", "refused": "queue_full", "unclear": "request_unclear",
    }  # fmt: skip
    for outcome, reason in outcomes.items():
        for turn in builder.turns(12, outcome=outcome, reason=reason, flags='["staff_note_without_channel"]'):
            builder.attempt(turn, 1, provider=f"a-provider-with-a-long-name-{outcome}", model="and-a-long-model-name")
    hanging = builder.turn(outcome=None, phase="model_attempt", age=900)
    builder.enter(hanging, "model_attempt", 0)
    builder.effect(builder.turn(outcome="in_doubt", reason="delivery_in_doubt"), "answer", "general", None)
    builder.step(hanging, 1, "refused side_effects", "FB-02", {})
    for reason in ("own_message", "bot_author", "webhook_author", "duplicate", "paused", "nothing_to_do"):
        builder.insert(
            "ignored_message", process_id=1, channel_id="1", reason=reason, count=100_000, last_us=builder.now_us,
            hour_us=builder.now_us,
        )  # fmt: skip
    builder.insert("prune_log", at_us=1, what="turns", before_us=builder.at(DAY), rows=4)
    builder.insert("log_loss", at_us=builder.now_us, rows=3, what="no space")
    builder.insert("runner_flag", name="paused", since_us=builder.at(300), set_by="eve", note="long " * 40)


@pytest.mark.spec("OPS-11")
def test_a_well_bot(builder: LogBuilder, look):
    answered(builder, 30)
    answer = look("status", "--utc")
    assert answer.status == 0
    assert answer.lines[0] == "WELL: 30 of 30 turns of the last 24 h ended as they should"
    assert answer.lines[-1] == "next: phasewalk list"


@pytest.mark.spec("OPS-11")
def test_the_first_screen_needs_no_argument(builder: LogBuilder, look):
    answered(builder, 30)
    assert look().out == look("status").out


@pytest.mark.spec("OPS-11", "OPS-13")
def test_a_bot_that_is_not_well_has_status_1(builder: LogBuilder, look):
    answered(builder, 10)
    builder.turns(30, outcome="stopped", reason="candidates_exhausted", age=7200)
    answer = look("status", "--utc")
    assert answer.status == 1
    assert answer.lines[0] == "NOT WELL: 30 of 40 turns of the last 24 h ended badly, mostly candidates_exhausted"
    assert answer.lines[1] == "  also: 30 of 40 who spoke to the bot got nothing"
    assert re.fullmatch(r"since \S+ \S+ UTC \(2 h( \d+ min)? ago\)", answer.lines[2])
    assert answer.lines[-1] == "next: phasewalk list --outcome stopped"


@pytest.mark.spec("OPS-11")
def test_what_started_before_the_fault_is_told(builder: LogBuilder, look):
    builder.process(age=9000, command="feed")
    builder.turns(40, outcome="stopped", reason="candidates_exhausted", age=7200)
    assert re.search(r"\n  last start before it: process \d+ \(feed, version 0\.1\.0\), \d{4}-", look("status").out)
    assert "it changed" not in look("status").out


@pytest.mark.spec("OPS-11")
def test_what_that_start_changed_is_told(builder: LogBuilder, look):
    first, second = builder.process(age=9900), builder.process(age=9000)
    configurations = {
        first: '{"bot":{"name":"a"},"candidates":["one/m","two/m"],"limits":{"turn":360.0,"tool":60}}',
        second: '{"bot":{"name":"b"},"candidates":["one/m","three/m"],"limits":{"turn":20.0,"tool":60}}',
    }
    for number, body in configurations.items():
        builder.insert("configuration", hash=str(number), body=body, first_seen_us=1)
        builder.log.execute("UPDATE process SET configuration_hash = process_id WHERE process_id = ?", (number,))
    builder.turns(40, outcome="stopped", reason="candidates_exhausted", age=7200)
    answer = look("status")
    assert "  it changed bot.name a -> b; candidates -two/m +three/m; 1 more" in answer.lines
    (item,) = look("status", "--json").items
    assert item["changed"]["changes"][2] == {"what": "limits.turn", "before": 360.0, "after": 20.0}


@pytest.mark.spec("OPS-11", "OPS-13")
def test_an_unclear_case_has_the_status_of_what_cannot_be_told(builder: LogBuilder, look):
    answered(builder, 36)
    builder.turns(4, outcome="expired", reason="deadline_passed")
    answer = look("status")
    assert (answer.status, answer.lines[0].split(":")[0]) == (4, "UNCLEAR")


@pytest.mark.spec("OPS-11")
def test_few_turns_and_none_are_counted_without_a_verdict(builder: LogBuilder, look):
    nothing = look("status")
    assert (nothing.status, nothing.lines[0]) == (4, "NO TURNS: none in the last 24 h")
    builder.turn()
    answer = look("status")
    assert (answer.status, answer.lines[0]) == (4, "TOO FEW TURNS: 1 in the last 24 h, a verdict needs 20")


@pytest.mark.spec("OPS-11")
def test_a_stuck_turn_is_no_question_of_numbers(builder: LogBuilder, look):
    builder.process(pid=GONE, command="turn")
    builder.enter(builder.turn(outcome=None, phase="classify"), "classify", 0)
    answer = look("status")
    assert answer.status == 1
    assert answer.lines[0] == "NOT WELL: 1 turn is not moving since its process died"
    assert answer.lines[-1] == "next: phasewalk stuck"


@pytest.mark.spec("OPS-11", "OPS-13")
def test_a_log_whose_newest_turn_is_old_is_counted_as_a_whole(builder: LogBuilder, look):
    answered(builder, 30, age=40 * DAY)
    answered(builder, 5, age=3 * DAY)
    answer = look("status")
    assert answer.lines[0] == "WELL: 35 of 35 turns of the whole log ended as they should"
    assert answer.lines[1].startswith("newest turn ")
    assert answer.lines[1].endswith("(3 d ago), so everything is counted")


@pytest.mark.spec("OPS-11")
def test_turns_before_the_last_day_are_not_counted(builder: LogBuilder, look):
    builder.turns(30, age=2 * DAY, outcome="stopped", reason="http_5xx")
    answered(builder, 25)
    (item,) = look("status", "--json").items
    assert (item["verdict"], item["outcomes"]) == ("WELL", {"answered": 25})


@pytest.mark.spec("OPS-11")
def test_outcomes_of_the_last_hour_stand_beside_a_usual_one_and_the_day(builder: LogBuilder, look):
    answered(builder, 20)
    builder.turns(10, age=7200, outcome="silent", reason="answer_not_needed")
    lines = look("status").lines
    table = [line.split() for line in lines[lines.index("") + 1 :][:4]]
    assert table == [
        ["turns", "last", "hour", "usual", "hour", "last", "24", "h"],
        ["all", "20", "0.4", "30"], ["answered", "20", "0.0", "20"], ["silent", "0", "0.4", "10"],
    ]  # fmt: skip
    (item,) = look("status", "--json").items
    assert item["usual_hour"] == {"answered": 0.0, "silent": 0.4}


@pytest.mark.spec("OPS-11")
def test_the_counts_of_what_goes_wrong_quietly(builder: LogBuilder, look):
    everything(builder)
    (item,) = look("status", "--json").items
    assert (item["running"], item["stuck"], item["in_doubt"], item["rows_lost"]) == (1, 1, 1, 3)
    assert item["staff_notes_without_channel"] == 120
    assert item["got_nothing"] == 109  # all but the short path: nothing was delivered to anybody
    assert item["ignored"]["own_message"] == 100_000
    assert item["fallback_stops"] == {"FB-02": 1}
    assert item["processes"][0]["state"] == "gone"


@pytest.mark.spec("OPS-11")
def test_a_busy_screen_fits_24_lines_of_80_columns(builder: LogBuilder, look, monkeypatch):
    everything(builder)
    monkeypatch.setattr("phasewalk.surfaces.cli.status.terminal_width", lambda: 80)
    lines = look("status").lines
    assert len(lines) <= 23  # and the prompt
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("next: phasewalk ")


@pytest.mark.spec("OPS-14")
def test_nothing_is_cut_when_piped(builder: LogBuilder, look):
    everything(builder)
    out = look("status").out
    assert "…" not in out
    assert "100000 nothing_to_do" in out
