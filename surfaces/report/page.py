"""The report as one HTML file: head and policy, the sections in their order, and never more than it may weigh.

Owns the order, the one line that knows when the page was made, and the limit. Knows no log.
Invariant: same facts, same bytes but for that line; a page is at most `LIMIT` bytes, and says which turns that cost.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from phasewalk.surfaces.cli.times import Zone
from phasewalk.surfaces.report.excerpt import Excerpt
from phasewalk.surfaces.report.facts import Facts
from phasewalk.surfaces.report.html import Html, el, join, text
from phasewalk.surfaces.report.lines import line, lines_of
from phasewalk.surfaces.report.pictures import heat_section
from phasewalk.surfaces.report.pieces import Frame, command, counted, folded, section, were
from phasewalk.surfaces.report.style import PICTURES, POLICY, SHEET
from phasewalk.surfaces.report.tables_section import (
    failures_section,
    fallback_section,
    percentiles_section,
    stuck_section,
)
from phasewalk.surfaces.report.turn_article import turn_article
from phasewalk.surfaces.report.verdict_section import verdict_section

LIMIT = 3_000_000
"""Bytes; what is over costs turns, the last ones first."""

SECTIONS = {
    "verdict": "Verdict",
    "stuck": "Stuck now",
    "fallback": "Why fallback stopped",
    "heat": "Where turns went",
    "failures": "Failure groups",
    "turns": "Turns to look at first",
    "percentiles": "Percentiles",
    "data": "Data",
}
"""What the page holds, from top to bottom."""

RULE = (
    "Chosen by this rule: turns that do not move; then turns with an effect in doubt, turns of people who spoke to the"
    " bot and got nothing, and turns that failed. Of each distinct failure (outcome, reason, phase, first failure) one"
    " turn comes before a second one of the same, the commonest failure first, and of a failure the turn that took"
    " longest. Then the turns that ended well, the longest first."
)


class Made(NamedTuple):
    """When the page was made, and by which version."""

    at_us: int
    version: str


def page(facts: Facts, zone: Zone, made: Made) -> str:
    """The whole file."""
    names = [str(turn.head["turn_id"]) for turn in facts.worst]
    shown = len(names)
    while True:
        document = _document(facts, zone, made, names[:shown])
        if len(document.encode()) <= LIMIT or shown == 0:
            return document
        shown -= max(shown // 8, 1)


def _document(facts: Facts, zone: Zone, made: Made, names: Sequence[str]) -> Html:
    there = frozenset(names)
    frame = Frame(zone, lambda turn_id: f"#turn-{turn_id}" if turn_id in there else None)
    body = el("body", _top(facts, frame, made), _navigation(), _main(facts, facts.worst[: len(names)], frame), _foot())
    return Html(f"<!DOCTYPE html>\n{el('html', _head(), body, lang='en')}")


def _head() -> Html:
    return el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", "phasewalk report"),
        el("style", Html(SHEET)),
        el("style", Html(PICTURES)),
    )


def _top(facts: Facts, frame: Frame, made: Made) -> Html:
    return el("header", el("h1", "phasewalk report"), _made(facts, frame, made), _covered(facts, frame))


def _made(facts: Facts, frame: Frame, made: Made) -> Html:
    """The one line that differs between two pages of the same facts."""
    until = facts.asked.until_us if facts.asked.until_us is not None else facts.asked.as_of_us
    return el(
        "p",
        *("Turns from ", frame.moment(facts.asked.since_us), " to ", frame.moment(until), f" {frame.zone.name}. Made "),
        *(frame.moment(made.at_us), f" by phasewalk {made.version}."),
        class_="made",
    )


def _covered(facts: Facts, frame: Frame) -> list[Html]:
    """What the log covers, and what of the period it does not hold."""
    covered, since = facts.covered, facts.asked.since_us
    if covered.from_us is None:
        told: list[object] = ["The log holds no turns."]
    else:
        whole = f"The log holds {counted(covered.turns, 'turn')}, the first from "
        told = [whole, frame.moment(covered.from_us), ", the newest from ", frame.moment(covered.to_us), "."]
    return [
        el("p", *told, class_="covered"),
        *_gaps(facts, frame),
        *([el("p", _later(), class_="note warn")] if covered.to_us is not None and covered.to_us < since else []),
    ]


def _later() -> Html:
    return join(
        [
            "The newest turn began before this period: ",
            command("phasewalk report --since 30d"),
            " reaches further back.",
        ]
    )


def _gaps(facts: Facts, frame: Frame) -> Iterator[Html]:
    pruned, lost = facts.covered.pruned_before_us, facts.evidence.period.rows_lost
    if pruned is not None:
        partial = (
            " This period reaches back before that: what is counted here is not all."
            if pruned > facts.asked.since_us
            else ""
        )
        yield el(
            "p",
            "The log was pruned: it lacks texts or whole turns from before ",
            frame.moment(pruned),
            ".",
            partial,
            class_="note warn",
        )
    if lost:
        yield el(
            "p",
            f"{counted(lost, 'row')} of this period {were(lost)} lost when the log could not be written.",
            class_="note warn",
        )


def _navigation() -> Html:
    links = [el("li", el("a", title, href=f"#{name}")) for name, title in SECTIONS.items()]
    return el("nav", el("ul", links), aria_label="Sections")


def _main(facts: Facts, shown: Sequence[Excerpt], frame: Frame) -> Html:
    return el(
        "main",
        verdict_section(facts.evidence, facts.verdict, facts.start, frame),
        stuck_section(facts.stuck, frame),
        fallback_section(facts.fallback, frame),
        heat_section(facts.traffic),
        failures_section(facts.failures, frame),
        _turns(shown, len(facts.worst) - len(shown), frame),
        percentiles_section(facts.phases, facts.models),
        _data(facts, shown),
    )


def _turns(shown: Sequence[Excerpt], dropped: int, frame: Frame) -> Html:
    title = SECTIONS["turns"]
    over = f"{counted(dropped, 'turn')} of this rule {were(dropped)} left out."
    said = el("p", f"To keep this page under {LIMIT // 1_000_000} MB, {over}", class_="note warn") if dropped else None
    if not shown:
        return section("turns", title, said or el("p", "There is no turn to show."))
    articles = [turn_article(turn, frame) for turn in shown]
    return section("turns", title, el("p", RULE, class_="note muted"), said, articles, look="long")


def _data(facts: Facts, shown: Sequence[Excerpt]) -> Html:
    lines = [*lines_of(facts), *(line("turn", turn.row()) for turn in shown)]
    told = el(
        "p", "What this page shows, one JSON object a line, each with its kind. Paper leaves them out.", class_="note"
    )
    block = el("pre", join((text(each) for each in lines), "\n"))
    return section("data", "Data", told, folded(counted(len(lines), "line"), block, look="data"))


def _foot() -> Html:
    return el("footer", el("p", "Made by phasewalk from its log. This file loads nothing and runs nothing."))
