"""`phasewalk report`: one HTML file to look at, to print and to send (OPS-20)."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from phasewalk.storage.health import DAY_US
from phasewalk.surfaces.cli.output import hand_over
from phasewalk.surfaces.cli.times import instant, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log, thresholds_or_usual

MOST_TURNS = 100


@click.command(
    epilog="\b\nExamples:\n  phasewalk report --output report.html\n  phasewalk report --since 7d --turns 25 > week.html\n\n"
    "\b\nExit codes: 0 ok, also when the bot is not well; 2 usage, 4 the log cannot be read.",
)
@click.option("--since", metavar="TIME", help="Turns from this time on: 2h, 7d, 2026-11-30. [a day before the end]")
@click.option("--until", metavar="TIME", help="Turns before this time, and the verdict as of then. [now]")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the page to FILE.")
@click.option(
    "--turns", type=click.IntRange(0, MOST_TURNS), default=10, show_default=True, help="How many turns are shown whole."
)
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    since: str | None,
    until: str | None,
    output: Path | None,
    turns: int,
    utc: bool,
    tz: str | None,
) -> None:
    """Write a page about a period: verdict, what is stuck, failures, the turns to look at first, times."""
    if output is None and sys.stdout.isatty():
        raise click.UsageError("a page is nothing for a terminal; say where it goes with --output FILE")
    zone = zone_of(utc=utc, tz=tz)
    now = now_us()
    until_us = instant(until, zone) if until is not None else None
    end = min(until_us, now) if until_us is not None else now
    since_us = instant(since, zone) if since is not None else max(end - DAY_US, 0)
    if since_us >= end:
        raise click.UsageError("the period ends before it begins; --since must lie before --until and before now")
    from phasewalk.surfaces.report.facts import Asked, facts_of
    from phasewalk.surfaces.report.page import Made, page

    with opened_log(obj) as log:
        facts = facts_of(log, Asked(since_us, until_us, end, turns, thresholds_or_usual(obj)), zone)
    hand_over(page(facts, zone, Made(now, version("phasewalk"))), output)
