"""`phasewalk circuit`: which failing providers are left alone, and closing a circuit by hand."""

import getpass
import json
import re
import sqlite3

import pytest
from builders import LogBuilder

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def failing(builder: LogBuilder, provider: str = "one", *, failures: int = 3, **columns: object) -> list[str]:
    """A provider that failed in so many turns, the last one a minute ago; `columns` are those of its circuit."""
    builder.insert("circuit", provider=provider, **columns)
    turns = []
    for number in range(failures, 0, -1):
        turns.append(builder.turn(age=60 * number, outcome="stopped", reason="http_5xx", phase="model_attempt"))
        builder.insert(
            "circuit_failure", provider=provider, turn_id=turns[-1], at_us=builder.at(60 * number), reason="http_5xx"
        )
    return turns


def opened(builder: LogBuilder, ago: float = 60, lasting: float = 1800) -> dict[str, int]:
    return {"opened_us": builder.at(ago), "open_until_us": builder.at(ago - lasting)}


def audit(builder: LogBuilder) -> list[tuple]:
    return builder.log.execute("SELECT who, what, target, before, after FROM operator_action").fetchall()


@pytest.mark.spec("OPS-13", "FB-15")
def test_a_log_in_which_no_provider_failed_says_what_it_covers(builder: LogBuilder, look):
    builder.turn()
    answer = look("circuit", "--utc")
    assert (answer.status, answer.err) == (0, "")
    assert re.fullmatch(
        f"no provider has failed; the log covers 1 turn from {TIME} to {TIME} UTC\n", answer.out
    )  # fmt: skip
    assert (look("circuit", "--json").items, look("circuit", "--jsonl").out) == ([], "")


@pytest.mark.spec("OPS-13")
def test_an_empty_log_says_so(look):
    assert look("circuit").out == "no provider has failed; the log holds no turns\n"


@pytest.mark.spec("FB-15", "OPS-14")
def test_an_open_circuit_is_told_with_until_when_why_and_what_to_type_next(builder: LogBuilder, look):
    turns = failing(builder, **opened(builder))
    head, times, last, following, zone = look("circuit", "--utc").lines
    assert head == "one  open"
    assert re.fullmatch(rf"  opened {TIME} \(1 min( \d+ s)? ago\), until {TIME}", times)
    assert re.fullmatch(
        rf"  last failure http_5xx {TIME} \(1 min( \d+ s)? ago\), 3 counted since it was last well", last
    )
    assert following == f"  next: phasewalk show {turns[-1]}"
    assert zone == "times: UTC"


@pytest.mark.spec("FB-15")
def test_a_closed_circuit_is_told_with_what_counts_against_its_provider(builder: LogBuilder, look):
    failing(builder, failures=2)
    head, last, *_ = look("circuit").lines
    assert head == "one  closed"
    assert last.endswith(", 2 counted since it was last well")


@pytest.mark.spec("FB-15")
def test_a_half_open_circuit_waits_for_the_next_turn(builder: LogBuilder, look):
    failing(builder, **opened(builder, ago=2000))
    lines = look("circuit").lines
    assert lines[0] == "one  half-open"
    assert lines[2] == "  the next turn tries it once"


@pytest.mark.spec("FB-15")
def test_a_half_open_circuit_names_the_turn_that_tries_it(builder: LogBuilder, look):
    failing(builder, **opened(builder, ago=2000), probe_turn_id="turn-a", probe_until_us=builder.at(-300))
    assert look("circuit").lines[2] == "  turn turn-a tries it"


@pytest.mark.spec("FB-15")
def test_failures_before_the_last_success_are_no_longer_counted(builder: LogBuilder, look):
    failing(builder, failures=3, cleared_us=builder.at(90))
    assert look("circuit", "--json").items[0]["failures"] == 1


@pytest.mark.spec("FB-15")
def test_a_provider_without_a_failure_in_the_log_is_named_alone(builder: LogBuilder, look):
    failing(builder, failures=0)
    assert look("circuit", "--utc").lines == ["one  closed", "times: UTC"]
    assert look("circuit", "--json").items[0]["last_turn_id"] is None


@pytest.mark.spec("FB-15")
def test_providers_stand_in_the_order_of_their_names(builder: LogBuilder, look):
    for provider in ("two", "one", "three"):
        failing(builder, provider, failures=1)
    assert [item["provider"] for item in look("circuit", "--json").items] == ["one", "three", "two"]


@pytest.mark.spec("OPS-14")
def test_all_keys_stand_in_every_item(builder: LogBuilder, look):
    failing(builder, "one", **opened(builder))
    failing(builder, "two", failures=0)
    items = look("circuit", "--json").items
    keys = ["provider", "state", "failures", "opened_us", "opened", "open_until_us", "open_until", "probe_turn_id",
            "last_failure_us", "last_failure", "last_reason", "last_turn_id"]  # fmt: skip
    assert [list(item) for item in items] == [keys, keys]
    assert [(item["state"], item["failures"]) for item in items] == [("open", 3), ("closed", 0)]


@pytest.mark.spec("OPS-14")
def test_one_line_a_provider_for_programs(builder: LogBuilder, look):
    failing(builder, "one", failures=1)
    failing(builder, "two", failures=1)
    assert [json.loads(line)["provider"] for line in look("circuit", "--jsonl").lines] == ["one", "two"]


@pytest.mark.spec("OPS-14")
def test_a_name_that_could_move_the_cursor_is_shown_by_its_numbers(builder: LogBuilder, look):
    failing(builder, "o\x1b[2Jne", failures=0)
    assert look("circuit").lines[0] == r"o\x1b[2Jne  closed"


@pytest.mark.spec("FB-15", "LOG-15")
def test_closing_a_circuit_shows_it_closed_and_writes_down_who_did_it(builder: LogBuilder, look):
    failing(builder, **opened(builder))
    answer = look("circuit", "--reset", "one", "--json")
    assert answer.status == 0
    assert [(i["provider"], i["state"], i["failures"]) for i in answer.items] == [("one", "closed", 0)]
    assert audit(builder) == [(getpass.getuser(), "reset a circuit", "one", '"open"', '"closed"')]


@pytest.mark.spec("FB-15", "LOG-15")
def test_closing_one_circuit_leaves_the_others_open(builder: LogBuilder, look):
    failing(builder, "one", **opened(builder))
    failing(builder, "two", **opened(builder))
    items = look("circuit", "--reset", "two", "--json").items
    assert [(item["provider"], item["state"]) for item in items] == [("one", "open"), ("two", "closed")]


@pytest.mark.spec("FB-15", "LOG-15")
def test_a_half_open_circuit_was_half_open_before_it_was_closed(builder: LogBuilder, look):
    failing(builder, **opened(builder, ago=2000))
    look("circuit", "--reset", "one")
    assert [row[3:] for row in audit(builder)] == [('"half_open"', '"closed"')]


@pytest.mark.spec("FB-15", "LOG-15", "OPS-13")
def test_a_provider_that_never_failed_is_one_sentence_and_nothing_is_written(builder: LogBuilder, look):
    failing(builder, "one", **opened(builder))
    failing(builder, "two")
    answer = look("circuit", "--reset", "tow")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err == "phasewalk: no circuit of a provider 'tow'; those that have failed are: one, two\n"
    assert audit(builder) == []


@pytest.mark.spec("FB-15", "OPS-13")
def test_where_no_provider_failed_there_is_none_to_close(look):
    answer = look("circuit", "--reset", "one")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err == "phasewalk: no circuit of a provider 'one'; those that have failed are: none\n"


@pytest.mark.spec("OPS-14")
def test_a_wrong_name_that_could_move_the_cursor_is_shown_by_its_numbers(look):
    assert r"'o\x1b[2Jne'" in look("circuit", "--reset", "o\x1b[2Jne").err


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("arguments", [["circuit"], ["circuit", "--json"], ["circuit", "--reset", "one"]], ids=str)
def test_without_a_log_there_is_one_sentence_and_no_file_is_made(process, tmp_path, arguments):
    missing = tmp_path / "missing.db"
    answer = process(*arguments, path=missing)
    assert (answer.status, answer.out) == (4, "")
    assert answer.err.startswith(f"phasewalk: {missing}: no such file; ")
    assert len(answer.err.splitlines()) == 1
    assert not missing.exists()


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("arguments", [["circuit"], ["circuit", "--reset", "one"]], ids=str)
def test_a_file_that_is_no_log_is_one_sentence(process, tmp_path, arguments):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE pasta (name TEXT)")
    connection.close()
    answer = process(*arguments, path=other)
    assert (answer.status, answer.out) == (4, "")
    assert answer.err == f"phasewalk: {other}: an SQLite database, but not a phasewalk log\n"


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [(["--json", "--jsonl"], "ask for one"), (["--tz", "Mars/Base"], "'Mars/Base' is no time zone"), (["--reset"], "--reset")],
    ids=str,
)  # fmt: skip
def test_a_wrong_option_is_status_2(builder: LogBuilder, look, options, sentence):
    answer = look("circuit", *options)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err


@pytest.mark.spec("LOG-15", "OPS-13")
def test_a_wrong_option_beside_a_change_keeps_it_from_being_made(builder: LogBuilder, look):
    failing(builder, **opened(builder))
    assert look("circuit", "--reset", "one", "--tz", "Mars/Base").status == 2
    assert audit(builder) == []


@pytest.mark.spec("OPS-16")
def test_help_ends_with_examples_and_exit_codes(look):
    text = look("circuit", "--help").out
    assert "phasewalk circuit --reset openai" in text
    assert text.rstrip().endswith("Exit codes: 0 ok, 2 usage, 3 no such provider, 4 the log cannot be used.")


@pytest.mark.spec("FB-15")
def test_a_probe_whose_time_is_over_tries_nothing_any_more(builder: LogBuilder, look):
    builder.insert(
        "circuit", provider="one", opened_us=builder.at(4000), open_until_us=builder.at(2000), probe_turn_id="turn-a",
        probe_until_us=builder.at(1500),
    )  # fmt: skip
    assert look("circuit").lines[2] == "  the next turn tries it once"
