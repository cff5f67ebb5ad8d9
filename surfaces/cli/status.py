"""`phasewalk status`: is the bot well, and where does it stop? The first screen, 24 lines of 80 columns."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import click

from phasewalk.storage.health import (
    DAY_US,
    ENDED_BADLY,
    HOUR_US,
    attempts_since,
    counts,
    newest_us,
    outcomes_since,
    processes,
    reasons_since,
)
from phasewalk.storage.queries import Row, coverage, stuck_turns
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.output import json_options, print_items
from phasewalk.surfaces.cli.render import clip, coloured, harmless, terminal_width
from phasewalk.surfaces.cli.times import Zone, ago, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

ENOUGH_TURNS = 20
BAD_SHARE = 0.2
"""More of the turns than this ending badly is no accident."""


@click.command(
    epilog="\b\nExamples:\n  phasewalk\n  phasewalk status --json\n\n"
    "\b\nExit codes: 0 well, or too little to say; 1 not well; 4 cannot tell: the log cannot be read.",
)
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    as_json: bool = False,
    jsonl: bool = False,
    utc: bool = False,
    tz: str | None = None,
) -> None:
    """Tell whether the bot is well, where it stops, and what to type next."""
    zone = zone_of(utc=utc, tz=tz)
    with opened_log(obj) as log:
        found = _gathered(log, now_us())
        if as_json or jsonl:
            print_items(log, [found], jsonl=jsonl)
        else:
            width = terminal_width()
            for line in _lines(found, zone):
                click.echo(clip(line, width))
    if found["verdict"] == "NOT WELL":
        raise SystemExit(int(Exit.CONDITION))


def _gathered(log: sqlite3.Connection, now: int) -> Row:
    """Everything that the screen shows, with the verdict."""
    newest = newest_us(log)
    old = newest is None or now - newest > DAY_US
    since = 0 if old else now - DAY_US
    outcomes = outcomes_since(log, since)
    stuck = stuck_turns(log)
    found: Row = {
        "now_us": now,
        "newest_us": newest,
        "period": "the whole log" if old else "the last 24 h",
        "outcomes": outcomes,
        "last_hour": outcomes_since(log, now - HOUR_US),
        "stuck": stuck,
        "bad": reasons_since(log, since),
        "candidates": attempts_since(log, since),
        "processes": processes(log),
        "coverage": coverage(log),
        **counts(log, since),
    }
    found["verdict"], found["why"], found["next"] = _verdict(found, outcomes, stuck)
    return found


def _verdict(found: Row, outcomes: dict[str, int], stuck: list[Row]) -> tuple[str, str, str]:
    """The verdict, why, and what to type next. Numbers stand beside what they are compared with."""
    total = sum(outcomes.values())
    bad = sum(count for name, count in outcomes.items() if name in ENDED_BADLY)
    if total == 0:
        return "NO TURNS", "nothing has been logged yet", 'phasewalk turn "hello"'
    if stuck:
        gone = sum(row["rule"] == "process_gone" for row in stuck)
        why = f"{len(stuck)} turns do not move" + (f", {gone} of them since their process died" if gone else "")
        return "NOT WELL", why, "phasewalk stuck"
    if found["in_doubt"]:
        return (
            "NOT WELL",
            f"{found['in_doubt']} effects may or may not have happened",
            'phasewalk sql "SELECT * FROM effects_in_doubt"',
        )
    if total < ENOUGH_TURNS:
        return "TOO FEW TURNS", f"{total} turns in {found['period']}, a verdict needs {ENOUGH_TURNS}", "phasewalk list"
    if bad > BAD_SHARE * total:
        why = f"{bad} of {total} turns ended badly, over {BAD_SHARE:.0%}"
        return "NOT WELL", why, f"phasewalk list --outcome {_most(outcomes)}"
    return "WELL", f"{total - bad} of {total} turns ended as they should", "phasewalk show last"


def _most(outcomes: dict[str, int]) -> str:
    return max((name for name in outcomes if name in ENDED_BADLY), key=lambda name: outcomes[name])


def _lines(found: Row, zone: Zone) -> Iterator[str]:
    now, newest = int(str(found["now_us"])), found["newest_us"]
    verdict = str(found["verdict"])
    colour = {"WELL": "32", "NOT WELL": "31"}.get(verdict, "33")
    yield f"{coloured(verdict, colour)}: {found['why']}"
    if newest is not None:
        at = int(str(newest))
        yield f"newest turn {zone.full(at)} {zone.name(at)} ({ago(at, now)})"
    yield ""
    yield f"{found['period']}: {_listed(found['outcomes']) or 'no turns'}"
    yield f"the last hour: {_listed(found['last_hour']) or 'no turns'}"
    for row in _rows(found["bad"]):
        first = f" (first {row['first_reason']})" if row["first_reason"] != row["reason"] else ""
        last = ago(int(str(row["last_us"])), now)
        yield f"  {row['turns']} x {row['outcome']}, {row['reason']}{first} in {row['reason_phase']}, last {last}"
    yield from _troubles(found)
    yield ""
    for row in _rows(found["candidates"]):
        yield f"asked {harmless(row['candidate'])}: {row['attempts']} attempts, {row['failed']} failed"
    for row in _rows(found["processes"]):
        began = ago(int(str(row["started_us"])), now)
        why = f" ({harmless(row['end_reason'])})" if row["end_reason"] else ""
        yield f"process {row['pid']} '{harmless(row['command'])}' {row['state']}{why}, began {began}"
    yield f"next: {found['next']}"


def _troubles(found: Row) -> Iterator[str]:
    """Counts that are shown when they are not zero."""
    said = (
        ("running", "turns run"),
        ("silent_people", "people spoke to the bot and got nothing"),
        ("in_doubt", "effects in doubt"),
        ("staff_notes_without_channel", "staff notes had no channel to go to"),
    )
    for name, text in said:
        if found[name]:
            yield f"  {found[name]} {text}"
    if found["ignored"]:
        yield f"  messages that opened no turn: {_listed(found['ignored'])}"


def _listed(counted: object) -> str:
    return ", ".join(f"{count} {name}" for name, count in counted.items()) if isinstance(counted, dict) else ""


def _rows(found: object) -> list[Row]:
    return found if isinstance(found, list) else []
