"""Everything that a report shows, read from a log in one go.

Owns which rows, of which period, and how many of them. Knows no HTML.
Invariant: nothing here tells how long ago something was, so that the same log and period give the same facts.
"""

import json
import sqlite3
from typing import Any, NamedTuple

from phasewalk.storage.changes import Start, start_before
from phasewalk.storage.queries import (
    Covered,
    Row,
    covered_period,
    fallback_decisions,
    heat_of,
    machine_of,
    machines_in,
    path_of,
    stuck_turns,
)
from phasewalk.storage.statistics import statistics
from phasewalk.storage.turn_view import turn_item
from phasewalk.storage.worst import Worst, worst_turns
from phasewalk.surfaces.cli.evidence import evidence_of
from phasewalk.surfaces.cli.times import Zone
from phasewalk.surfaces.cli.verdict import Evidence, Verdict, judge
from phasewalk.surfaces.report.excerpt import Excerpt, Step, bounded, excerpt_of
from phasewalk.surfaces.thresholds import Thresholds

MOST_ROWS = 40
"""So many rows of a table are shown; what is more is counted."""

MOST_MACHINES = 3

STUCK_AMONG_WORST = 200
"""So many stuck turns are considered when those that one looks at first are chosen."""


class Asked(NamedTuple):
    """What a report is to be about: from `since_us` until before `until_us`, as seen at `as_of_us`."""

    since_us: int
    until_us: int | None
    as_of_us: int
    turns: int
    limits: Thresholds = Thresholds()


class Some(NamedTuple):
    """The first rows of a table, and how many more there are."""

    rows: list[Row]
    more: int


class Traffic(NamedTuple):
    """One machine as the log holds it, how many turns walked it, and how often each of its steps was taken."""

    document: dict[str, Any]
    turns: int
    heat: dict[Step, int]


class Facts(NamedTuple):
    """What the page is made of."""

    asked: Asked
    covered: Covered
    evidence: Evidence
    verdict: Verdict
    start: Start | None
    stuck: Some
    fallback: Some
    traffic: list[Traffic]
    failures: Some
    phases: Some
    models: Some
    worst: list[Excerpt]


def facts_of(log: sqlite3.Connection, asked: Asked, zone: Zone) -> Facts:
    """The facts of a period; the log is read-only and stands still while it is asked."""
    stuck = [row for row in stuck_turns(log) if int(str(row["counted_from_us"])) <= asked.as_of_us]
    evidence = evidence_of(
        log, stuck, since_us=asked.since_us, until_us=asked.until_us, now_us=asked.as_of_us, span="this period",
        limits=asked.limits,
    )  # fmt: skip
    verdict = judge(evidence)
    return Facts(
        asked=asked,
        covered=covered_period(log),
        evidence=evidence,
        verdict=verdict,
        start=start_before(log, verdict.since_us) if verdict.since_us is not None else None,
        stuck=_some([_unaging(row) for row in stuck]),
        fallback=_some(fallback_decisions(log, asked.since_us, asked.until_us)),
        traffic=_traffic(log, asked),
        failures=_some(statistics(log, "failure", asked.since_us, asked.until_us)),
        phases=_some(statistics(log, "phase", asked.since_us, asked.until_us)),
        models=_some(statistics(log, "model", asked.since_us, asked.until_us)),
        worst=_worst(log, asked, stuck, zone),
    )


def _unaging(stuck: Row) -> Row:
    """A stuck turn without how long it has been so; the instants say it."""
    return {name: value for name, value in stuck.items() if name != "value"}


def _some(rows: list[Row]) -> Some:
    return Some([bounded(row) for row in rows[:MOST_ROWS]], max(len(rows) - MOST_ROWS, 0))


def _traffic(log: sqlite3.Connection, asked: Asked) -> list[Traffic]:
    found = machines_in(log, asked.since_us, asked.until_us)[:MOST_MACHINES]
    return [
        Traffic(
            json.loads(str(row["body"])),
            int(str(row["turns"])),
            heat_of(log, str(row["hash"]), asked.since_us, asked.until_us),
        )
        for row in found
    ]


def _worst(log: sqlite3.Connection, asked: Asked, stuck: list[Row], zone: Zone) -> list[Excerpt]:
    ids = [str(row["turn_id"]) for row in stuck[:STUCK_AMONG_WORST]]
    found = worst_turns(log, asked.since_us, asked.until_us, stuck=ids, limit=asked.turns)
    return [_excerpt(log, worst, zone) for worst in found]


def _excerpt(log: sqlite3.Connection, worst: Worst, zone: Zone) -> Excerpt:
    item = turn_item(log, worst.turn_id, detail=False)
    if isinstance(item["stuck"], dict):
        item["stuck"] = _unaging(item["stuck"])
    return excerpt_of(worst, item, json.loads(machine_of(log, worst.turn_id)), path_of(log, worst.turn_id), zone)
