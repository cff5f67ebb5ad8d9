"""`phasewalk list`: which turns were there."""

import sqlite3
from typing import Any

import click

from phasewalk.storage.queries import Row, list_turns
from phasewalk.storage.turn_document import text_of
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import covers, json_options, print_items
from phasewalk.surfaces.cli.render import table, terminal_width
from phasewalk.surfaces.cli.times import instant, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

HEAD = ("TURN", "OUTCOME", "REASON", "WHERE")


@click.command(
    epilog='\b\nExamples:\n  phasewalk list --outcome stopped --since 2h\n  phasewalk list --where "attempts > 2" --json\n\n'
    "\b\nExit codes: 0 ok, also when nothing fits; 2 usage, 4 the log cannot be read.",
)
@click.option("--outcome", help="Only this outcome; 'running' for turns without an end.")
@click.option("--reason", help="Only this reason, of the end or of the first failure.")
@click.option("--phase", help="Only where the reason arose in this phase, or which are in it.")
@click.option("--channel", help="Only this channel (name or id).")
@click.option("--user", help="Only this person (name or id).")
@click.option("--model", help="Only turns that asked this model.")
@click.option("--retrying", is_flag=True, help="Only turns that run and have asked a model more than once.")
@click.option("--since", help="Only from this time on: 2h, 7d, 2026-11-30.")
@click.option("--until", help="Only before this time.")
@click.option("--where", metavar="SQL", help="Only where this condition on the table 'turn' holds.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--content", is_flag=True, help="Show what was said.")
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    retrying: bool,
    where: str | None,
    limit: int,
    content: bool,
    as_json: bool,
    jsonl: bool,
    utc: bool,
    tz: str | None,
    **filters: Any,
) -> None:
    """List turns, the newest first."""
    zone = zone_of(utc=utc, tz=tz)
    for name in ("since", "until"):
        filters[name] = instant(filters[name]) if filters[name] is not None else None
    with opened_log(obj) as log:
        try:
            found = list_turns(log, filters, retrying=retrying, where=where, limit=limit)
        except sqlite3.Error as error:
            if where is None:
                raise
            raise CommandError(f'--where: {error}; expected a condition such as "attempts > 2"', Exit.USAGE) from error
        truncated, items = len(found) > limit, [_item(log, row, content=content) for row in found[:limit]]
        if as_json or jsonl:
            print_items(log, items, jsonl=jsonl, truncated=truncated)
            return
        if not items:
            click.echo(f"no turn fits; {covers(log)}", err=True)
            return
        lines = [_line(item, zone.full(int(str(item["started_us"]))), content=content) for item in items]
        head = (f"STARTED ({zone.name(int(str(items[0]['started_us'])))})", *HEAD)
        for line in table((*head, "SAID") if content else head, lines, terminal_width()):
            click.echo(line)
        if truncated:
            click.echo(f"the newest {limit}; there are more, see --limit", err=True)


def _item(log: sqlite3.Connection, row: Row, *, content: bool) -> Row:
    digest = row.pop("text_digest")
    if content:
        row["text"] = text_of(log, str(digest))
    return row


def _line(item: Row, started: str, *, content: bool) -> list[object]:
    where = f"#{item['channel_name']} {item['user_name']}"
    line: list[object] = [started, item["turn_id"], item["outcome"], item["reason"] or item["phase"], where]
    return [*line, item["text"]] if content else line
