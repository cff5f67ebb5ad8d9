"""`phasewalk fallback`: why fallback stopped, and whom it passed over."""

import json
import re

import pytest
from builders import LogBuilder

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
EFFECTS = "CON-22: no fallback after effects"
OPEN = "FB-15: open, left alone"


def considered(
    builder: LogBuilder, turn: str, decided: str = "refused side_effects", rule: str = EFFECTS, **columns: object
) -> None:
    """A candidate was considered in this turn; `columns` are those of the row, `values` its values."""
    decision, reason = decided.split()
    step = builder.log.execute(
        "SELECT coalesce(max(step), 0) + 1 FROM fallback_step WHERE turn_id = ?", (turn,)
    ).fetchone()[0]
    values = {
        "at_us": builder.at(58), "provider": "two", "model": "m-two", "decision": decision, "reason": reason,
        "rule": rule, "values": "{}",
    }  # fmt: skip
    given = {name: json.dumps(value) if name == "values" else value for name, value in columns.items()}
    builder.insert("fallback_step", turn_id=turn, step=step, **{**values, **given})


def found(answer) -> list[tuple]:
    assert answer.status == 0, answer.err
    return [(item["decision"], item["reason"], item["turns"]) for item in answer.items]


@pytest.mark.spec("OPS-13")
def test_where_fallback_never_stopped_it_is_said_what_the_log_covers(builder: LogBuilder, look):
    builder.turn()
    answer = look("fallback", "--utc")
    assert (answer.status, answer.err) == (0, "")
    covered = f"the log covers 1 turn from {TIME} to {TIME} UTC"
    assert re.fullmatch(f"fallback never stopped and passed nobody over; {covered}\n", answer.out)
    assert (look("fallback", "--json").items, look("fallback", "--jsonl").out) == ([], "")


@pytest.mark.spec("OPS-13")
def test_an_empty_log_says_so(look):
    assert look("fallback").out == "fallback never stopped and passed nobody over; the log holds no turns\n"


@pytest.mark.spec("OPS-14")
def test_a_decision_is_told_with_its_meaning_its_rule_its_values_and_what_to_type_next(builder: LogBuilder, look):
    turn = builder.turn()
    considered(builder, turn, values={"effects": 2, "kind": "tool"})
    head, rule, last, following, zone = look("fallback", "--utc").lines
    meaning = builder.log.execute("SELECT meaning FROM reason WHERE code = 'side_effects'").fetchone()[0]
    assert head == f"1 turn  refused, side_effects: {meaning}"
    assert rule == "  a guard refused to ask anybody else, by CON-22: no fallback after effects"
    assert re.fullmatch(rf"  last {TIME} \((\d+ s|1 min( \d+ s)?) ago\): effects: 2, kind: tool", last)
    assert (following, zone) == (f"  next: phasewalk show {turn}", "times: UTC")


@pytest.mark.parametrize(
    ("decided", "sentence"),
    [
        ("refused side_effects", "a guard refused to ask anybody else"),
        ("exhausted attempts_exhausted", "nobody else was left to ask"),
        ("skipped circuit_open", "a candidate was passed over"),
    ],
)
def test_each_decision_says_what_it_means(builder: LogBuilder, look, decided, sentence):
    considered(builder, builder.turn(), decided)
    assert look("fallback").lines[1] == f"  {sentence}, by {EFFECTS}"


def test_a_candidate_that_was_taken_is_no_stop(builder: LogBuilder, look):
    considered(builder, builder.turn(), "taken ok")
    assert found(look("fallback", "--json")) == []


def test_decisions_alike_are_counted_together_and_once_a_turn(builder: LogBuilder, look):
    one, two = builder.turns(2)
    for turn in (one, one, two):
        considered(builder, turn)
    (item,) = look("fallback", "--json").items
    assert (item["turns"], item["steps"]) == (2, 3)
    assert look("fallback").lines[0].startswith("2 turns  refused, side_effects: ")


def test_another_reason_or_another_rule_is_a_group_of_its_own(builder: LogBuilder, look):
    turn = builder.turn()
    considered(builder, turn, "skipped circuit_open", OPEN)
    considered(builder, turn, "skipped no_model", OPEN)
    considered(builder, turn, "skipped no_model", "FB-10: no model named")
    assert sorted((item["reason"], item["rule"]) for item in look("fallback", "--json").items) == [
        ("circuit_open", OPEN),
        ("no_model", "FB-10: no model named"),
        ("no_model", OPEN),
    ]


def test_what_stopped_comes_before_who_was_passed_over_and_the_most_frequent_first(builder: LogBuilder, look):
    turns = builder.turns(3)
    for turn in turns:
        considered(builder, turn, "skipped circuit_open", OPEN)
    for turn in turns[:2]:
        considered(builder, turn, "exhausted attempts_exhausted")
    considered(builder, turns[0], "refused side_effects")
    assert found(look("fallback", "--json")) == [
        ("exhausted", "attempts_exhausted", 2),
        ("refused", "side_effects", 1),
        ("skipped", "circuit_open", 3),
    ]


def test_the_values_are_those_of_the_newest_turn_and_its_last_step(builder: LogBuilder, look):
    old, new = builder.turn(age=90), builder.turn(age=60)
    considered(builder, new, values={"left_s": 3}, at_us=builder.at(20))
    considered(builder, new, values={"left_s": 2}, at_us=builder.at(10))
    considered(builder, old, values={"left_s": 1}, at_us=builder.at(80))
    (item,) = look("fallback", "--json").items
    assert (item["last_turn_id"], item["last_values"]) == (new, {"left_s": 2})


def test_the_first_and_the_last_time_are_told(builder: LogBuilder, look):
    for age in (90, 30, 60):
        considered(builder, builder.turn(age=age), at_us=builder.at(age))
    (item,) = look("fallback", "--json").items
    assert (item["first_us"], item["last_us"]) == (builder.at(90), builder.at(30))


@pytest.mark.parametrize(
    ("options", "turns"),
    [([], 3), (["--since", "2h"], 2), (["--until", "2h"], 1), (["--since", "3h", "--until", "30m"], 2), (["--since", "10s"], 0)],
    ids=str,
)  # fmt: skip
def test_since_and_until_bound_the_time_of_the_decision(builder: LogBuilder, look, options, turns):
    for age in (10_000, 3600, 60):
        considered(builder, builder.turn(age=age), at_us=builder.at(age - 1))
    assert sum(item["turns"] for item in look("fallback", "--json", *options).items) == turns


@pytest.mark.spec("OPS-14")
def test_all_keys_stand_in_every_item(builder: LogBuilder, look):
    considered(builder, builder.turn(), values={"effects": [1, None]})
    considered(builder, builder.turn(), "skipped circuit_open")
    items = look("fallback", "--json").items
    keys = ["decision", "reason", "meaning", "rule", "steps", "turns", "first_us", "first", "last_us", "last",
            "last_turn_id", "last_values"]  # fmt: skip
    assert [list(item) for item in items] == [keys, keys]
    assert [item["last_values"] for item in items] == [{"effects": [1, None]}, {}]


@pytest.mark.spec("OPS-14")
def test_one_line_a_group_for_programs(builder: LogBuilder, look):
    turn = builder.turn()
    considered(builder, turn)
    considered(builder, turn, "skipped circuit_open")
    assert [json.loads(line)["decision"] for line in look("fallback", "--jsonl").lines] == ["refused", "skipped"]


@pytest.mark.parametrize(
    ("value", "text"), [("plain", "plain"), (3.5, "3.5"), (None, "null"), (True, "true"), (["a", "ü"], '["a", "ü"]')]
)
def test_a_value_is_shown_as_json_and_a_text_without_quotes(builder: LogBuilder, look, value, text):
    considered(builder, builder.turn(), values={"compared": value})
    assert look("fallback").lines[2].endswith(f" ago): compared: {text}")


@pytest.mark.spec("OPS-14")
def test_values_that_could_move_the_cursor_are_shown_by_their_numbers(builder: LogBuilder, look):
    considered(builder, builder.turn(), values={"model": "a\x1b[2Jb"})
    assert look("fallback").lines[2].endswith(r"model: a\x1b[2Jb")


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("options", [[], ["--json"], ["--since", "2h"]], ids=str)
def test_without_a_log_there_is_one_sentence_and_no_file_is_made(process, tmp_path, options):
    missing = tmp_path / "missing.db"
    answer = process("fallback", *options, path=missing)
    assert (answer.status, answer.out) == (4, "")
    assert answer.err.startswith(f"phasewalk: {missing}: no such file; ")
    assert len(answer.err.splitlines()) == 1
    assert not missing.exists()


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--since", "soon"], "'soon' is no time; expected 2h"),
        (["--until", "99999999999999999999d"], "is no time"),
        (["--tz", "Mars/Base"], "'Mars/Base' is no time zone"),
        (["--utc", "--tz", "Europe/Berlin"], "ask for one"),
        (["--json", "--jsonl"], "ask for one"),
        (["two"], "unexpected extra argument (two)"),
    ],
    ids=str,
)
def test_a_wrong_option_is_one_sentence_and_status_2(look, options, sentence):
    answer = look("fallback", *options)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err


@pytest.mark.spec("OPS-16")
def test_help_ends_with_examples_and_exit_codes(look):
    text = look("fallback", "--help").out
    assert "phasewalk fallback --since 24h" in text
    assert text.rstrip().endswith(
        "Exit codes: 0 ok, also when fallback never stopped; 2 usage, 4 the log cannot be read."
    )


def decided(builder: LogBuilder, turn: str, step: int, at: float, values: object) -> None:
    builder.insert(
        "fallback_step", turn_id=turn, step=step, at_us=builder.at(at), provider="two", model="m-two",
        decision="refused", reason="side_effects", rule="r", values=json.dumps(values),
    )  # fmt: skip


def test_a_decision_since_then_counts_though_its_turn_began_long_before(builder: LogBuilder, look):
    decided(builder, builder.turn(age=300, took=290), 1, 15, {})
    assert len(look("fallback", "--since", "1m", "--json").items) == 1


def test_the_last_values_are_of_the_period_that_was_asked_for(builder: LogBuilder, look):
    turn = builder.turn(age=300)
    decided(builder, turn, 1, 200, {"left": "before"})
    decided(builder, turn, 2, 10, {"left": "after"})
    assert look("fallback", "--until", "1m", "--json").items[0]["last_values"] == {"left": "before"}


def test_time_and_values_said_to_be_the_last_are_of_one_decision(builder: LogBuilder, look):
    old, new = builder.turn(age=200), builder.turn(age=100)
    decided(builder, new, 1, 90, {"of": "new"})
    decided(builder, old, 1, 10, {"of": "old"})
    (item,) = look("fallback", "--json").items
    assert (item["last_us"], item["last_values"]) == (builder.at(10), {"of": "old"})
