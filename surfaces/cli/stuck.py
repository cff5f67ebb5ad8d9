"""`phasewalk stuck`: what is not moving, and by which rule."""

from typing import Any

import click

from phasewalk.storage.queries import Row, stuck_turns
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.output import covers, json_options, print_items
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.times import Zone, ago, lasting, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

RULES = {
    "process_gone": "its process {pid} is gone; last sign of life {value} ago",
    "heartbeat_lost": "its process {pid} on {host} gave no sign of life for {value}, over {threshold}",
    "deadline_passed": "its deadline passed {value} ago, over {threshold}",
    "phase_over_budget": "the phase is over its budget by {value}, over {threshold}",
}


@click.command(
    epilog="\b\nExamples:\n  phasewalk stuck\n  phasewalk stuck --json\n\n"
    "\b\nExit codes: 0 nothing is stuck, 1 something is, 4 the log cannot be read.",
)
@json_options
@zone_options
@click.pass_obj
def command(obj: dict[str, Any], /, *, as_json: bool, jsonl: bool, utc: bool, tz: str | None) -> None:
    """Tell what does not move, since when, and by which rule."""
    zone = zone_of(utc=utc, tz=tz)
    with opened_log(obj) as log:
        found = stuck_turns(log)
        if as_json or jsonl:
            print_items(log, found, jsonl=jsonl)
        elif found:
            now = now_us()
            for row in found:
                _show(row, zone, now)
            click.echo(f"times: {zone.name(now)}")
        else:
            click.echo(f"nothing is stuck; {covers(log)}")
    if found:
        raise SystemExit(int(Exit.CONDITION))


def _show(row: Row, zone: Zone, now: int) -> None:
    since = int(str(row["since_us"]))
    said = RULES[str(row["rule"])].format(
        pid=row["pid"],
        host=harmless(row["host"]),
        value=lasting(float(str(row["value"]))),
        threshold=lasting(float(str(row["threshold"]))),
    )
    click.echo(f"{row['turn_id']}  in {row['phase']} since {zone.full(since)} ({ago(since, now)})")
    click.echo(f"  {row['rule']}: {said}")
    click.echo(f"  {row['kind']} turn of {harmless(row['user_name'])} in #{harmless(row['channel_name'])}")
    click.echo(f"  next: phasewalk show {row['turn_id']}")
