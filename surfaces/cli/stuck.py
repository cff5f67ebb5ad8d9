"""`phasewalk stuck`: what is not moving and by which rule, and what waits for a person's decision."""

from collections.abc import Iterator
from typing import Any

import click

from phasewalk.storage.queries import Row, doubtful_effects, stuck_turns
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, ago, lasting, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

RULES = {
    "process_gone": "its process {pid} on {host} is gone; last sign of life {ago}",
    "heartbeat_lost": "its process {pid} on {host} gave no sign of life {lasting}, limit {threshold}",
    "deadline_passed": "its deadline passed {ago}, limit {threshold}",
    "phase_over_budget": "the phase is over its budget {by}, limit {threshold}",
}


@click.command(
    epilog="\b\nExamples:\n  phasewalk stuck\n  phasewalk stuck --json\n\n"
    "\b\nExit codes: 0 nothing is stuck, 1 something is, 2 usage, 4 the log cannot be read.",
)
@json_options
@zone_options
@click.pass_obj
def command(obj: dict[str, Any], /, *, as_json: bool, jsonl: bool, utc: bool, tz: str | None) -> None:
    """Tell what does not move, since when, and by which rule; and what is in doubt until a person decides."""
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    with opened_log(obj) as log:
        found = [{**row, "effect_id": None, "effect": None, "target": None} for row in stuck_turns(log)]
        found += doubtful_effects(log)
        if as_json or jsonl:
            print_items(log, [_item(row) for row in found], jsonl=jsonl)
        elif found:
            now = now_us()
            emit([*(line for row in found for line in _lines(row, zone, now)), f"times: {zone.name}"])
        else:
            emit([f"nothing is stuck; {covers(log, zone)}"])
    if found:
        raise SystemExit(int(Exit.CONDITION))


def rule_of(row: Row, zone: Zone | None = None) -> str:
    """The rule by which a turn is stuck, its number beside the limit; with `zone` the instant instead of a span."""
    threshold = lasting(float(str(row["threshold"])))
    if zone is None:
        value = lasting(float(str(row["value"])))
        told = {"ago": f"{value} ago", "lasting": f"for {value}", "by": f"by {value}"}
    else:
        when = zone.full(int(str(row["counted_from_us"])))
        told = {"ago": f"at {when}", "lasting": f"since {when}", "by": f"since {when}"}
    said = RULES[str(row["rule"])].format(pid=row["pid"], host=row["host"], threshold=threshold, **told)
    return harmless(f"{row['rule']}: {said}")


def _item(row: Row) -> Row:
    return {**row, "addressed": bool(row["addressed"]), "next": _next(row)}


def _next(row: Row) -> str:
    if row["effect_id"] is None:
        return f"phasewalk show {row['turn_id']}"
    return decision(row["effect_id"])


def decision(effect_id: object) -> str:
    """The command by which a person decides about an effect in doubt."""
    return f"phasewalk recover --resolve {effect_id} --as done|not-done"


def _lines(row: Row, zone: Zone, now: int) -> Iterator[str]:
    since = int(str(row["since_us"]))
    if row["effect_id"] is not None:
        yield from _doubt(row, zone, now)
        return
    who = f"{row['user_name'] or row['user_id']} in #{row['channel_name'] or row['channel_id']}"
    width = terminal_width()
    first = f"{row['turn_id']}  in {row['phase']} since {zone.full(since)} ({ago(since, now)})"
    yield coloured(harmless(first), "31")
    yield from wrap(f"  {rule_of(row)}", width, "    ")
    waiting = ", who spoke to the bot and waits" if row["addressed"] else ""
    yield from wrap(harmless(f"  {row['kind']} turn of {who}{waiting}"), width, "    ")
    yield f"  next: {_next(row)}"


def _doubt(row: Row, zone: Zone, now: int) -> Iterator[str]:
    since, width = int(str(row["since_us"])), terminal_width()
    first = f"{row['turn_id']}  has ended; its {row['effect']} to {row['target']} is in doubt"
    yield coloured(harmless(first), "33")
    told = f"  intended {zone.full(since)} ({ago(since, now)}); whether it happened nobody could tell"
    yield from wrap(told, width, "    ")
    yield f"  next: {_next(row)}"
