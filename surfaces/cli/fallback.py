"""`phasewalk fallback`: why fallback stopped, and whom it passed over."""

from collections.abc import Iterator
from typing import Any

import click

from phasewalk.storage.queries import Row, fallback_decisions
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import coloured, harmless, plain, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, ago, instant, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

MEANS = {
    "refused": "a guard refused to ask anybody else",
    "exhausted": "nobody else was left to ask",
    "skipped": "a candidate was passed over",
}


@click.command(
    epilog="\b\nExamples:\n  phasewalk fallback --since 24h\n  phasewalk fallback --json\n\n"
    "\b\nExit codes: 0 ok, also when fallback never stopped; 2 usage, 4 the log cannot be read.",
)
@click.option("--since", metavar="TIME", help="Only from this time on: 2h, 7d, 2026-11-30, 2026-11-30T18:00.")
@click.option("--until", metavar="TIME", help="Only before this time.")
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    since: str | None,
    until: str | None,
    as_json: bool,
    jsonl: bool,
    utc: bool,
    tz: str | None,
) -> None:
    """Tell why fallback stopped: decisions grouped by reason and rule, with the values last compared."""
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    from_us = instant(since, zone) if since is not None else None
    until_us = instant(until, zone) if until is not None else None
    with opened_log(obj) as log:
        found = fallback_decisions(log, from_us, until_us)
        if as_json or jsonl:
            print_items(log, found, jsonl=jsonl)
        elif found:
            emit([*(line for row in found for line in _lines(row, zone)), f"times: {zone.name}"])
        else:
            emit([f"fallback never stopped and passed nobody over; {covers(log, zone)}"])


def _lines(row: Row, zone: Zone) -> Iterator[str]:
    decision, width, last = str(row["decision"]), terminal_width(), int(str(row["last_us"]))
    turns = "1 turn" if row["turns"] == 1 else f"{row['turns']} turns"
    colour = "33" if decision == "skipped" else "31"
    yield coloured(harmless(f"{turns}  {decision}, {row['reason']}: {row['meaning']}"), colour)
    yield from wrap(harmless(f"  {MEANS[decision]}, by {row['rule']}"), width, "    ")
    values = row["last_values"]
    compared = ", ".join(f"{k}: {plain(v)}" for k, v in values.items()) if isinstance(values, dict) else ""
    yield from wrap(harmless(f"  last {zone.full(last)} ({ago(last, now_us())}): {compared}"), width, "    ")
    yield harmless(f"  next: phasewalk show {row['last_turn_id']}")
