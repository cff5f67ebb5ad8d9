"""`phasewalk status`: is the bot well, and where does it stop? The first screen, 24 lines of 80 columns."""

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from phasewalk.storage.changes import Start, start_before
from phasewalk.storage.health import DAY_US, Group, Process, fallback_stops, newest_us
from phasewalk.storage.queries import Row, stuck_turns
from phasewalk.surfaces.cli.changes_said import changes_said
from phasewalk.surfaces.cli.evidence import evidence_of
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.paused_said import flag_item, paused_said
from phasewalk.surfaces.cli.render import clip, coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, ago, now_us, rfc3339, zone_of, zone_options
from phasewalk.surfaces.cli.verdict import Evidence, Verdict, by_outcome, judge
from phasewalk.surfaces.cli.where import opened_log, thresholds_or_usual
from phasewalk.surfaces.thresholds import Thresholds

STATUS = {"WELL": Exit.OK, "NOT WELL": Exit.CONDITION, "PAUSED": Exit.CONDITION}
"""What is no verdict, for lack of turns or of clearness, has the status of what cannot be told."""
A_DAY = "the last 24 h"
COLOURS = {"WELL": "32", "NOT WELL": "31"}
SHOWN_OUTCOMES = 5
SHOWN_CAUSES = 2
SHOWN_ASKED = 3


class Picture(NamedTuple):
    """Everything that the screen shows."""

    evidence: Evidence
    verdict: Verdict
    fallback_stops: tuple[tuple[str, int], ...]
    newest_us: int | None
    start: Start | None
    covered: str


@click.command(
    epilog="\b\nExamples:\n  phasewalk\n  phasewalk status --json\n\n"
    "\b\nExit codes: 0 well, 1 not well or paused, 2 usage, 4 unclear, or too few turns\nto say, or the log cannot be read.",
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
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    with opened_log(obj) as log:
        picture = picture_of(log, now_us(), zone, thresholds_or_usual(obj))
        if as_json or jsonl:
            print_items(log, [_item(picture)], jsonl=jsonl)
    if not (as_json or jsonl):
        emit(screen(picture, zone))
    status = STATUS.get(picture.verdict.word, Exit.UNREADABLE)
    if status:
        raise SystemExit(int(status))


def screen(picture: Picture, zone: Zone) -> list[str]:
    """The lines of the screen."""
    width = terminal_width()
    word = picture.verdict.word
    first, *others = wrap(harmless(f"{word}: {picture.verdict.why}"), width, "  ")
    first = coloured(word, COLOURS.get(word, "33")) + first.removeprefix(word)
    return [first, *others, *(clip(line, width) for line in _lines(picture, zone))]


def picture_of(log: sqlite3.Connection, now: int, zone: Zone, limits: Thresholds) -> Picture:
    """The numbers of the last day, or of the whole log when its newest turn is older than that."""
    newest = newest_us(log)
    old = newest is not None and now - newest > DAY_US
    since = 0 if old else now - DAY_US
    span = "the whole log" if old else A_DAY
    evidence = evidence_of(log, stuck_turns(log), since_us=since, now_us=now, span=span, limits=limits)
    verdict = judge(evidence)
    start = start_before(log, verdict.since_us) if verdict.since_us is not None else None
    return Picture(evidence, verdict, tuple(fallback_stops(log, since)), newest, start, covers(log, zone))


def _lines(picture: Picture, zone: Zone) -> Iterator[str]:
    verdict = picture.verdict
    for cause in verdict.causes[1:SHOWN_CAUSES]:
        yield harmless(f"  also: {cause.what}")
    if picture.evidence.paused is not None:
        yield harmless(paused_said(picture.evidence.paused, zone, picture.evidence.now_us))
    yield from _since(picture, zone)
    yield ""
    yield from _outcomes(picture.evidence.period.groups, picture.evidence.span)
    yield from _counts(picture)
    yield from _sources(picture.evidence, picture.evidence.now_us)
    yield ""
    yield harmless(picture.covered)
    yield f"next: {verdict.look}"


def _since(picture: Picture, zone: Zone) -> Iterator[str]:
    """Since when, what ran then, and the newest turn."""
    now = picture.evidence.now_us
    since = picture.verdict.since_us
    if since is not None:
        yield f"since {zone.full(since)} {zone.name} ({ago(since, now)})"
    if picture.start is not None:
        began = picture.start.process
        said = f"  last start before it: process {began.pid} ({began.command}, version {began.version})"
        yield harmless(f"{said}, {zone.full(began.started_us)}")
        if picture.start.changes is not None:
            yield harmless(f"  it changed {changes_said(picture.start.changes)}")
    if picture.newest_us is not None:
        old = ", so everything is counted" if picture.evidence.period.since_us == 0 else ""
        newest = picture.newest_us
        yield f"newest turn {zone.full(newest)} {zone.name} ({ago(newest, now)}){old}"


def _outcomes(groups: tuple[Group, ...], span: str) -> Iterator[str]:
    """How turns ended, the last hour beside a usual one and the total; the commonest first."""
    yield f"{'turns':<16}{'last hour':>10}{'usual hour':>14}{span.removeprefix('the '):>16}"
    counted = [("all", sum(g.lately for g in groups), sum(g.turns for g in groups)), *by_outcome(groups)]
    shown, rest = counted[: SHOWN_OUTCOMES + 1], counted[SHOWN_OUTCOMES + 1 :]
    if rest:
        shown.append(("others", sum(line[1] for line in rest), sum(line[2] for line in rest)))
    for name, lately, turns in shown:
        usual = _usual(lately, turns, span)
        yield f"  {name:<14}{lately:>10}{'-' if usual is None else f'{usual:.1f}':>14}{turns:>16}"


def _usual(lately: int, turns: int, span: str) -> float | None:
    """What an hour holds on average, the last one left out; None where the span is not a day."""
    return None if span != A_DAY else round((turns - lately) / 23, 1)


def _counts(picture: Picture) -> Iterator[str]:
    found, stuck = picture.evidence.period, len(picture.evidence.stuck)
    yield f"{found.running} running, {stuck} stuck, {found.got_nothing} who spoke to the bot got nothing"
    notes = sum(group.flagged for group in found.groups)
    ended = sum(turns for _, turns in picture.fallback_stops)
    yield f"{ended} fallbacks ended, {found.in_doubt} effects in doubt, {notes} staff notes without a channel"
    ignored = ", ".join(f"{count} {reason}" for reason, count in found.ignored)
    yield f"{sum(count for _, count in found.ignored)} messages opened no turn" + (f": {ignored}" if ignored else "")


def _sources(evidence: Evidence, now: int) -> Iterator[str]:
    """Who was asked, and who ran."""
    asked = (f"{a.candidate} {a.attempts} times ({a.failed} failed)" for a in evidence.period.asked[:SHOWN_ASKED])
    yield harmless(f"asked: {', '.join(asked) or 'nobody'}")
    for process in evidence.processes[:1]:
        why = f" ({process.end_reason})" if process.end_reason else ""
        began = ago(process.started_us, now)
        yield harmless(f"process {process.pid} ({process.command}) {process.state}{why}, began {began}")


def _item(picture: Picture) -> Row:
    """The screen for programs."""
    evidence, verdict = picture.evidence, picture.verdict
    found, start = evidence.period, picture.start
    causes = [{"what": c.what, "since": rfc3339(c.since_us), "look": c.look} for c in verdict.causes]
    counted = by_outcome(found.groups)
    return {
        "verdict": verdict.word,
        "why": verdict.why,
        "since": rfc3339(verdict.since_us),
        "paused": flag_item(evidence.paused),
        "changed": _start(start) if start is not None else None,
        "causes": causes,
        "next": verdict.look,
        "period": evidence.span,
        "newest": rfc3339(picture.newest_us),
        "outcomes": {name: turns for name, _, turns in counted},
        "last_hour": {name: lately for name, lately, _ in counted if lately},
        "usual_hour": {name: _usual(lately, turns, evidence.span) for name, lately, turns in counted},
        "running": found.running,
        "stuck": len(evidence.stuck),
        "got_nothing": found.got_nothing,
        "in_doubt": found.in_doubt,
        "staff_notes_without_channel": sum(group.flagged for group in found.groups),
        "ignored": dict(found.ignored),
        "candidates": [asked._asdict() for asked in found.asked],
        "fallback_stops": dict(picture.fallback_stops),
        "processes": [_process(process) for process in evidence.processes],
        "rows_lost": found.rows_lost,
    }


def _start(start: Start) -> Row:
    changes = None if start.changes is None else [change._asdict() for change in start.changes]
    return {**_process(start.process), "changes": changes}


def _process(process: Process) -> Row:
    times = ("started_us", "heartbeat_us", "ended_us")
    told = {**process._asdict(), "process_id": str(process.process_id)}
    return {name.removesuffix("_us"): rfc3339(value) if name in times else value for name, value in told.items()}
