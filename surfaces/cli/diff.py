"""`phasewalk diff`: what differs between two turns."""

from collections.abc import Iterator
from typing import Any

import click

from phasewalk.storage.turn_view import turn_item
from phasewalk.surfaces.cli.completing import turn_names
from phasewalk.surfaces.cli.diff_sections import Item, differences
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.naming import one_turn
from phasewalk.surfaces.cli.output import emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import both_sides
from phasewalk.surfaces.cli.times import lasting
from phasewalk.surfaces.cli.where import from_option, opened_log


@click.command(
    epilog="\b\nExamples:\n  phasewalk diff last~1 last\n  phasewalk diff last~1 last --json\n\n"
    "\b\nExit codes: 0 they did the same, 1 they differ, 2 usage, 3 no such turn or several,\n4 the log cannot be read.",
)
@click.argument("one", shell_complete=turn_names)
@click.argument("other", shell_complete=turn_names)
@from_option
@json_options
@click.pass_obj
def command(obj: dict[str, Any], /, *, one: str, other: str, as_json: bool, jsonl: bool) -> None:
    """Tell what differs between the turns ONE and OTHER: path, contract, prompt, model calls, effects, time."""
    exclusive(json=as_json, jsonl=jsonl)
    with opened_log(obj) as log:
        first, second = (turn_item(log, one_turn(log, name), detail=False) for name in (one, other))
        found = list(differences(first, second))
        if as_json or jsonl:
            items = [{"section": name, "one": mine, "other": theirs} for name, mine, theirs in found]
            print_items(log, items, jsonl=jsonl)
    if not (as_json or jsonl):
        emit(_lines(first, second, found))
    if found:
        raise SystemExit(int(Exit.CONDITION))


def _lines(first: Item, second: Item, found: list[tuple[str, object, object]]) -> Iterator[str]:
    names = f"{first['turn_id']} and {second['turn_id']}"
    yield f"turns {names} {'differ in ' + ', '.join(name for name, _, _ in found) if found else 'did the same'}"
    for name, mine, theirs in found:
        yield name
        yield from both_sides(mine, theirs)
    yield f"time: {_took(first)} against {_took(second)}"


def _took(item: Item) -> str:
    return "not ended" if item["took_ms"] is None else lasting(item["took_ms"] / 1000)
