"""`phasewalk stats`: how long phases and models take, how turns end, and what they cost."""

from typing import Any

import click

from phasewalk.storage.queries import Row
from phasewalk.storage.statistics import BY, statistics
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import coloured, table, terminal_width
from phasewalk.surfaces.cli.times import Zone, instant, lasting, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

COLUMNS = {
    "phase": ("phase", "visits", "p50_ms", "p95_ms", "p99_ms", "longest_ms"),
    "reason": ("outcome", "reason", "turns", "people", "last_us"),
    "model": ("provider", "model", "attempts", "failed", "input_tokens", "output_tokens", "p50_ms", "p95_ms", "p99_ms"),
    "channel": ("channel", "turns", "answered", "silent", "failed", "people"),
    "failure": ("reason", "phase", "first_reason", "outcome", "turns", "people", "first_us", "last_us"),
}
"""What a table shows of each row; JSON holds all of it."""


@click.command(
    epilog="\b\nExamples:\n  phasewalk stats --since 24h\n  phasewalk stats --by model --since 7d --json\n\n"
    "\b\nExit codes: 0 ok, also when nothing is counted; 2 usage, 4 the log cannot be read.",
)
@click.option(
    "--by", "grouped", multiple=True, type=click.Choice(list(BY)), help="What to count by; several are several tables."
)
@click.option(
    "--since", metavar="TIME", default="24h", show_default=True, help="From this time on: 2h, 7d, 2026-11-30."
)
@click.option("--until", metavar="TIME", help="Only before this time.")
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    grouped: tuple[str, ...],
    since: str,
    until: str | None,
    as_json: bool,
    jsonl: bool,
    utc: bool,
    tz: str | None,
) -> None:
    """Count turns, visits, model calls and failures of a period, with percentiles of their times."""
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    from_us = instant(since, zone)
    until_us = instant(until, zone) if until is not None else None
    wanted = dict.fromkeys(grouped or ("phase", "model", "reason"))
    with opened_log(obj) as log:
        found = {by: statistics(log, by, from_us, until_us) for by in wanted}
        if as_json or jsonl:
            items = [{"by": by, **row} for by, counted in found.items() for row in counted]
            print_items(log, items, jsonl=jsonl)
        elif any(found.values()):
            emit([*_tables(found, zone), f"since {zone.full(from_us)} {zone.name}"])
        else:
            emit([f"nothing to count since {zone.full(from_us)}; {covers(log, zone)}"])


def _tables(found: dict[str, list[Row]], zone: Zone) -> list[str]:
    lines: list[str] = []
    for by, counted in found.items():
        if not counted:
            continue
        columns = COLUMNS[by]
        head = tuple(name.removesuffix("_ms").removesuffix("_us").replace("_", " ").upper() for name in columns)
        first, *others = table(
            head, [[_cell(name, row[name], zone) for name in columns] for row in counted], terminal_width()
        )
        lines += [coloured(first, "1"), *others, ""]
    return lines


def _cell(name: str, value: object, zone: Zone) -> object:
    if value is None:
        return "-"
    if name.endswith("_ms"):
        return lasting(float(str(value)) / 1000)
    return zone.full(int(str(value))) if name.endswith("_us") else value
