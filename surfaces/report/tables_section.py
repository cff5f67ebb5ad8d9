"""The sections that are one table each: what is stuck, why fallback stopped, which failures there were, percentiles.

Owns their columns. Pure: from rows to HTML. Invariant: an empty table is a sentence that says what there was none of.
"""

from collections.abc import Mapping

from phasewalk.storage.queries import Row
from phasewalk.surfaces.cli.fallback import MEANS
from phasewalk.surfaces.cli.render import plain
from phasewalk.surfaces.cli.stuck import rule_of
from phasewalk.surfaces.report.facts import Some
from phasewalk.surfaces.report.html import Html, el, join
from phasewalk.surfaces.report.pieces import (
    Column,
    Frame,
    bar,
    command,
    kind,
    left_out,
    number,
    section,
    table,
    took,
    whose,
)


def stuck_section(stuck: Some, frame: Frame) -> Html:
    """What does not move, since when, by which rule."""
    columns = (Column("Turn"), Column("Stands in"), Column("Since"), Column("By which rule", "wide"), Column("Whose"))
    rows = [
        (frame.turn(row["turn_id"]), row["phase"], frame.moment(row["since_us"]), rule_of(row, frame.zone), _whose(row))
        for row in stuck.rows
    ]
    if not rows:
        return section("stuck", "Stuck now", el("p", "Nothing is stuck."))
    said = el("p", "To look again: ", command("phasewalk stuck"), class_="note")
    shown = table("Turns that do not move, the longest first", columns, rows, label="Stuck turns")
    return section("stuck", "Stuck now", shown, left_out(stuck.more, "turn"), said)


def _whose(row: Row) -> str:
    waiting = ", who spoke to the bot and waits" if row["addressed"] else ""
    return f"{whose(row)}{waiting}"


def fallback_section(decisions: Some, frame: Frame) -> Html:
    """Why fallback stopped, and whom it passed over."""
    columns = (
        Column("Reason", "wide"), Column("Turns", "n"), Column("Decision"),
        Column("Rule, with the values last compared", "wide"), Column("Last"),
    )  # fmt: skip
    title = "Why fallback stopped"
    if not decisions.rows:
        return section("fallback", title, el("p", "In this period fallback never stopped and passed nobody over."))
    rows = [_decision(row, frame) for row in decisions.rows]
    shown = table("Decisions by reason and rule; what stopped fallback comes first", columns, rows, label="Fallback")
    return section("fallback", title, shown, left_out(decisions.more, "decision"))


def _decision(row: Row, frame: Frame) -> tuple[object, ...]:
    return (
        reason(row["reason"], row["meaning"]),
        number(row["turns"]),
        [f"{row['decision']}: ", MEANS[str(row["decision"])]],
        [el("code", row["rule"]), values(row["last_values"])],
        [frame.moment(row["last_us"]), " ", frame.turn(row["last_turn_id"])],
    )


def reason(code: object, meaning: object) -> Html:
    """A reason by its name, and what it means."""
    return join([el("code", code), ": ", meaning]) if meaning else el("code", code)


def values(compared: object) -> str | None:
    """` (name: value, other: value)`; None where nothing was compared."""
    if not isinstance(compared, Mapping):
        return f" ({plain(compared)})" if compared else None
    told = ", ".join(f"{name}: {plain(value)}" for name, value in compared.items())
    return f" ({told})" if told else None


def failures_section(failures: Some, frame: Frame) -> Html:
    """Which distinct failures there were, since when, how many people they met."""
    title = "Failure groups"
    if not failures.rows:
        return section("failures", title, el("p", "No turn of this period failed."))
    columns = (
        Column("Reason"), Column("Arose in"), Column("First failure"), Column("Outcome"), Column("Turns", "n"),
        Column("People", "n"), Column("Seen from and to"), Column("Newest turn"),
    )  # fmt: skip
    rows = [
        (
            el("code", row["reason"]), row["phase"], el("code", row["first_reason"]), kind(row["outcome"]),
            number(row["turns"]), number(row["people"]),
            _seen(row, frame), frame.turn(row["last_turn_id"]),
        )
        for row in failures.rows
    ]  # fmt: skip
    shown = table("Failures that differ in reason, phase, first failure or outcome", columns, rows, label="Failures")
    return section("failures", title, shown, left_out(failures.more, "group"))


def _seen(row: Row, frame: Frame) -> list[object]:
    """The first and the last time; one where they are the same."""
    first, last = frame.moment(row["first_us"]), frame.moment(row["last_us"])
    return [first] if first == last else [first, " ", last]


def percentiles_section(phases: Some, models: Some) -> Html:
    """How long phases and models took."""
    if not phases.rows and not models.rows:
        return section("percentiles", "Percentiles", el("p", "There is nothing to measure in this period."))
    said = el(
        "p", "Each figure is a time that was really measured: so many of a hundred took no longer.", class_="note"
    )
    return section("percentiles", "Percentiles", said, _phases(phases), _models(models))


def _phases(phases: Some) -> Html | None:
    slowest = _slowest(phases.rows)
    columns = (
        Column("Phase"), Column("Visits", "n"), Column("p50", "n"), Column("p95", "n"), Column("p99", "n"),
        Column("Longest", "n"), Column("p50 to p95", "bar"),
    )  # fmt: skip
    rows = [
        (row["phase"], number(row["visits"]), *_times(row), took(row["longest_ms"]), _spread(row, slowest))
        for row in phases.rows
    ]
    return table("Time that a visit of each phase took", columns, rows, label="Times of phases") if rows else None


def _models(models: Some) -> Html | None:
    slowest = _slowest(models.rows)
    columns = (
        Column("Model"), Column("Calls", "n"), Column("Failed", "n"), Column("Tokens in", "n"),
        Column("Tokens out", "n"), Column("p50", "n"), Column("p95", "n"), Column("p99", "n"),
        Column("p50 to p95", "bar"),
    )  # fmt: skip
    rows = [
        (
            el("code", f"{row['provider']}/{row['model']}"), number(row["attempts"]), number(row["failed"]),
            number(row["input_tokens"]), number(row["output_tokens"]), *_times(row), _spread(row, slowest),
        )
        for row in models.rows
    ]  # fmt: skip
    if not rows:
        return None
    return join(
        [
            table("Time that a call of each model took", columns, rows, label="Times of models"),
            left_out(models.more, "model"),
        ]
    )


def _times(row: Row) -> tuple[str, str, str]:
    return took(row["p50_ms"]), took(row["p95_ms"]), took(row["p99_ms"])


def _slowest(rows: list[Row]) -> float:
    return max((float(str(row["p95_ms"])) for row in rows if row["p95_ms"] is not None), default=0.0)


def _spread(row: Row, slowest: float) -> Html | None:
    """From the median to where 95 of a hundred have ended, on the scale of the slowest."""
    if row["p95_ms"] is None or slowest <= 0:
        return None
    middle, late = float(str(row["p50_ms"])), float(str(row["p95_ms"]))
    return bar(middle / slowest, (late - middle) / slowest, f"from {took(middle)} to {took(late)}")
