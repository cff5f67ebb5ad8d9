"""`phasewalk show`: what happened in a turn, one line a visit."""

from typing import Any

import click

from phasewalk.storage.queries import Row
from phasewalk.storage.turn_view import turn_item
from phasewalk.surfaces.cli.completing import turn_names
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.naming import names_of, one_turn
from phasewalk.surfaces.cli.output import emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.show_lines import turn_lines
from phasewalk.surfaces.cli.times import now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import from_option, opened_log


@click.command(
    epilog="\b\nExamples:\n  phasewalk show last\n  phasewalk show https://discord.com/channels/1/2/3 --detail\n\n"
    "\b\nExit codes: 0 ok, 2 usage, 3 no such turn or several, 4 the log cannot be read,\n5 something of what is asked for was pruned or lost.",
)
@click.argument("turns", nargs=-1, required=True, shell_complete=turn_names)
@click.option("--detail", is_flag=True, help="Also the texts: prompts, responses, arguments, results.")
@from_option
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    turns: tuple[str, ...],
    detail: bool,
    as_json: bool,
    jsonl: bool,
    utc: bool,
    tz: str | None,
) -> None:
    """Show TURNS: ids, unique prefixes, 'last', 'last~2', message links; '-' reads ids from standard input."""
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    names = names_of(turns)
    with opened_log(obj) as log:
        items = [turn_item(log, one_turn(log, name), detail=detail) for name in names]
        if as_json or jsonl:
            print_items(log, items, jsonl=jsonl)
    if not (as_json or jsonl):
        now = now_us()
        for index, item in enumerate(items):
            emit([*([""] if index else []), *turn_lines(item, zone, now)])
    end_incomplete(items)


def end_incomplete(items: list[Row]) -> None:
    """Say what is missing; status 5 when something is."""
    missing = [_missing(item) for item in items if item["log_gap"] or item["pruned"]]
    for sentence in missing:
        click.echo(f"phasewalk: {sentence}", err=True)
    if missing:
        raise SystemExit(int(Exit.INCOMPLETE))


def _missing(item: Row) -> str:
    lost = f"{item['log_gap']} rows were lost when the log could not be written" if item["log_gap"] else ""
    pruned = f"{item['pruned']} texts were pruned" if item["pruned"] else ""
    return f"turn {item['turn_id']} is incomplete: {' and '.join(part for part in (lost, pruned) if part)}"
