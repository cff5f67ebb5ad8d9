"""`phasewalk list`: which turns there were."""

import pytest
from builders import LogBuilder


def ids(answer) -> list[str]:
    assert answer.status == 0, answer.err
    return [item["turn_id"] for item in answer.items]


@pytest.mark.spec("OPS-14")
def test_the_newest_turn_comes_first(builder: LogBuilder, look):
    old, new = builder.turn(age=90), builder.turn(age=30)
    assert ids(look("list", "--json")) == [new, old]


FILTERS = {
    "outcome": (["--outcome", "stopped"], {"outcome": "stopped", "reason": "http_5xx"}),
    "running": (["--outcome", "running"], {"outcome": None, "phase": "model_attempt"}),
    "reason": (["--reason", "side_effects"], {"outcome": "stopped", "reason": "side_effects"}),
    "first reason": (
        ["--reason", "http_429"],
        {"outcome": "stopped", "reason": "attempts_exhausted", "first_reason": "http_429"},
    ),
    "phase of the reason": (["--phase", "deliver"], {"phase": "deliver"}),
    "phase of a running turn": (["--phase", "classify"], {"outcome": None, "phase": "classify"}),
    "channel by name": (["--channel", "#lobby"], {"channel_name": "lobby"}),
    "channel by id": (["--channel", "999"], {"channel_id": "999"}),
    "user by name": (["--user", "@tom"], {"user_name": "tom"}),
    "user by id": (["--user", "78"], {"user_id": "78"}),
    "where": (["--where", "rounds > 2 -- a comment"], {"rounds": 3}),
}


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize(("options", "columns"), FILTERS.values(), ids=FILTERS)
def test_a_filter_keeps_what_fits_and_nothing_else(builder: LogBuilder, look, options, columns):
    builder.turns(2)
    wanted = builder.turn(**columns)
    builder.turns(2)
    assert ids(look("list", "--json", *options)) == [wanted]


@pytest.mark.parametrize("name", ["m-two", "two", "two/m-two"])
def test_a_turn_is_found_by_any_model_that_it_asked(builder: LogBuilder, look, name):
    builder.attempt(builder.turn(), 1)
    wanted = builder.turn()
    builder.attempt(wanted, 1)
    builder.attempt(wanted, 2, cause="fallback", provider="two", model="m-two")
    assert ids(look("list", "--model", name, "--json")) == [wanted]


def test_retrying_are_running_turns_that_repeated_a_call(builder: LogBuilder, look):
    tools, ended, wanted = builder.turn(outcome=None), builder.turn(), builder.turn(outcome=None)
    for turn, cause in ((tools, "tool_results"), (ended, "retry"), (wanted, "retry")):
        builder.attempt(turn, 1)
        builder.attempt(turn, 2, cause=cause)
    assert ids(look("list", "--retrying", "--json")) == [wanted]


@pytest.mark.parametrize(
    ("options", "ages"),
    [(["--since", "2h"], [60, 3600]), (["--until", "2h"], [10_000]), (["--since", "90m", "--until", "30m"], [3600])],
    ids=str,
)
def test_since_and_until_bound_the_start(builder: LogBuilder, look, options, ages):
    turns = {age: builder.turn(age=age) for age in (10_000, 3600, 60)}
    assert ids(look("list", "--json", *options)) == [turns[age] for age in ages]


@pytest.mark.spec("OPS-13", "OPS-14")
def test_a_capped_answer_says_so_in_the_object_and_on_standard_error(builder: LogBuilder, look):
    builder.turns(3)
    answer = look("list", "--limit", "2", "--json")
    assert (len(answer.items), answer.document["truncated"]) == (2, True)
    assert answer.err == "phasewalk: these are the newest 2; there are more, see --limit\n"
    assert look("list", "--limit", "3", "--json").document["truncated"] is False


@pytest.mark.spec("OPS-14")
def test_text_is_hidden_unless_content_is_asked_for(builder: LogBuilder, look):
    builder.turn(text="my secret plan")
    for options in ([], ["--json"], ["--jsonl"]):
        assert "secret" not in look("list", *options).out
        assert "my secret plan" in look("list", "--content", *options).out
    assert look("list", "--json").items[0]["text"] is None


@pytest.mark.spec("OPS-14")
def test_a_line_tells_when_who_where_and_why(builder: LogBuilder, look):
    turn = builder.turn(outcome="stopped", reason="attempts_exhausted", first_reason="http_429", phase="model_attempt")
    head, line = look("list", "--utc").lines
    assert head.split("  ")[0] == "STARTED, UTC"
    assert line.split("  ", 1)[1] == (
        f"{turn}  stopped  attempts_exhausted in model_attempt (first http_429)  #general mira"
    )


@pytest.mark.spec("OPS-13")
def test_an_empty_answer_says_which_period_it_covers(builder: LogBuilder, look):
    builder.turn()
    builder.insert("prune_log", at_us=1, what="turns", before_us=1_700_000_000_000_000, rows=4)
    builder.insert("log_loss", at_us=1, rows=3, what="no space")
    answer = look("list", "--outcome", "expired", "--utc")
    assert answer.status == 0
    assert answer.out.startswith("no turn fits; the log covers 1 turn from ")
    assert answer.out.endswith(" UTC, pruned before 2023-11-14 22:13:20, 3 rows lost\n")


@pytest.mark.spec("OPS-13")
def test_a_log_without_turns_says_so(builder: LogBuilder, look):
    answer = look("list")
    assert (answer.status, answer.out) == (0, "no turn fits; the log holds no turns\n")
    empty = look("list", "--json").document
    assert (empty["items"], empty["coverage"]["turns"], empty["coverage"]["from"]) == ([], 0, None)


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--outcome", "stoped"], "did you mean 'stopped'?"),
        (["--reason", "http_492"], "did you mean 'http_429'?"),
        (["--phase", "delivery"], "did you mean 'deliver'?"),
        (["--where", "nonsense ="], "--where: "),
        (["--where", "no_such_column = 1"], "no such column: no_such_column"),
        (["--where", "?"], "--where: "),
        (["--since", "soon"], "'soon' is no time; expected 2h"),
        (["--since", "99999999999999999999d"], "is no time"),
        (["--tz", "Mars/Base"], "'Mars/Base' is no time zone"),
        (["--tz", "America"], "'America' is no time zone"),
        (["--utc", "--tz", "Europe/Berlin"], "ask for one"),
        (["--limit", "0"], "--limit"),
        (["--json", "--jsonl"], "ask for one"),
        (["--user", "\udcff"], "not UTF-8 text"),
    ],
    ids=str,
)
def test_a_wrong_option_is_one_sentence_and_status_2(builder: LogBuilder, look, options, sentence):
    builder.turn()
    answer = look("list", *options)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert len([line for line in answer.err.splitlines() if line.startswith(("Error", "phasewalk"))]) == 1


@pytest.mark.spec("OPS-14")
def test_all_keys_stand_in_every_item(builder: LogBuilder, look):
    builder.turn(outcome=None, phase="classify")
    builder.turn()
    running, ended = reversed(look("list", "--json").items)
    assert running.keys() == ended.keys()
    assert (running["outcome"], running["phase"], running["took_ms"]) == ("running", "classify", None)
    assert isinstance(ended["channel_id"], str)
