"""`phasewalk why`: why a turn ended as it did, or has not moved (OPS-12)."""

from typing import Any

import click

from phasewalk.storage.turn_view import turn_item
from phasewalk.surfaces.cli.completing import turn_names
from phasewalk.surfaces.cli.naming import names_of, one_turn
from phasewalk.surfaces.cli.output import emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.show import end_incomplete
from phasewalk.surfaces.cli.times import now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import from_option, opened_log
from phasewalk.surfaces.cli.why_lines import why_item, why_lines


@click.command(
    epilog="\b\nExamples:\n  phasewalk why last\n  phasewalk why https://discord.com/channels/1/2/3\n\n"
    "\b\nExit codes: 0 ok, 2 usage, 3 no such turn or several, 4 the log cannot be read,\n5 something of what is asked for was pruned or lost.",
)
@click.argument("turns", nargs=-1, required=True, shell_complete=turn_names)
@from_option
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any], /, *, turns: tuple[str, ...], as_json: bool, jsonl: bool, utc: bool, tz: str | None
) -> None:
    """Tell why TURNS ended as they did, or what they wait for: ids, prefixes, 'last', message links, '-'."""
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    names = names_of(turns)
    with opened_log(obj) as log:
        items = [turn_item(log, one_turn(log, name), detail=False) for name in names]
        if as_json or jsonl:
            print_items(log, [why_item(item, now_us()) for item in items], jsonl=jsonl)
    if not (as_json or jsonl):
        now = now_us()
        for index, item in enumerate(items):
            emit([*([""] if index else []), *why_lines(item, zone, now)])
    end_incomplete(items)
