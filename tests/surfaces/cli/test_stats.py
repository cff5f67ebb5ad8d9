"""`phasewalk stats`: percentiles that were measured, counts of a period."""

import pytest
from builders import LogBuilder


def took(builder: LogBuilder, seconds: float, **columns: object) -> str:
    turn = builder.turn(**columns)
    builder.enter(turn, "model_attempt", 1)
    builder.leave(turn, "model_attempt", 1 + seconds, "T12 output_received", "validate_envelope")
    return turn


def counted(look, by: str, *options: str) -> list[dict]:
    return look("stats", "--by", by, "--json", *options).items


@pytest.mark.spec("OPS-13", "OPS-14")
def test_percentiles_are_times_that_were_measured(builder: LogBuilder, look):
    for n in range(1, 101):
        took(builder, n / 100)
    (row,) = counted(look, "phase")
    assert (row["by"], row["phase"], row["visits"]) == ("phase", "model_attempt", 100)
    assert (row["p50_ms"], row["p95_ms"], row["p99_ms"], row["longest_ms"]) == (500.0, 950.0, 990.0, 1000.0)


def test_a_single_time_is_every_percentile(builder: LogBuilder, look):
    took(builder, 0.25)
    (row,) = counted(look, "phase")
    assert {row["p50_ms"], row["p95_ms"], row["p99_ms"]} == {250.0}


def test_only_the_period_counts(builder: LogBuilder, look):
    took(builder, 0.1, age=7200)
    took(builder, 0.2, age=60)
    assert [row["p50_ms"] for row in counted(look, "phase", "--since", "1h")] == [200.0]
    assert [row["visits"] for row in counted(look, "phase", "--since", "3h")] == [2]
    assert [row["visits"] for row in counted(look, "phase", "--since", "3h", "--until", "1h")] == [1]


def test_models_with_their_failures_and_tokens(builder: LogBuilder, look):
    turn = builder.turn()
    builder.attempt(turn, 1, provider="main", model="m", status="failed", reason="http_5xx")
    builder.attempt(turn, 2, provider="main", model="m", status="ok", input_tokens=11, output_tokens=7)
    builder.attempt(turn, 3, provider="other", model="m2", status="ok", input_tokens=5, output_tokens=1)
    rows = counted(look, "model")
    assert [(r["provider"], r["attempts"], r["failed"], r["input_tokens"], r["output_tokens"]) for r in rows] == [
        ("main", 2, 1, 11, 7),
        ("other", 1, 0, 5, 1),
    ]


def test_reasons_channels_and_failures(builder: LogBuilder, look):
    builder.turn(channel_name="help")
    builder.turn(channel_name="help", outcome="stopped", reason="candidates_exhausted", first_reason="http_5xx")
    assert {(r["outcome"], r["turns"]) for r in counted(look, "reason")} == {("answered", 1), ("stopped", 1)}
    assert [(r["channel"], r["turns"], r["answered"], r["failed"]) for r in counted(look, "channel")] == [
        ("help", 2, 1, 1)
    ]
    (failure,) = counted(look, "failure")
    assert (failure["reason"], failure["first_reason"], failure["turns"]) == ("candidates_exhausted", "http_5xx", 1)


@pytest.mark.spec("OPS-13")
def test_tables_say_their_period_and_an_empty_one_what_the_log_covers(builder: LogBuilder, look):
    took(builder, 0.25)
    out = look("stats", "--utc").out
    assert "PHASE" in out
    assert "model_attempt" in out
    assert "since " in out
    empty = look("stats", "--until", "2h", "--since", "3h")
    assert (empty.status, empty.out.startswith("nothing to count since ")) == (0, True)


def test_a_wrong_time_is_a_usage_error(builder: LogBuilder, look):
    assert look("stats", "--since", "yesterdy").status == 2
