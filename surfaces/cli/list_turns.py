"""`phasewalk list`: which turns were there."""

import difflib
import sqlite3
from collections.abc import Sequence
from typing import Any

import click

from phasewalk.machine.words import Outcome
from phasewalk.storage.queries import Row, list_turns, phase_names, reason_codes
from phasewalk.storage.turn_document import text_of
from phasewalk.surfaces.cli.completing import channels, one_of, phases, reasons
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import coloured, harmless, table, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, instant, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

HEAD = ("TURN", "OUTCOME", "WHY", "WHERE")
OUTCOMES = ("running", *map(str, Outcome))


@click.command(
    epilog='\b\nExamples:\n  phasewalk list --outcome stopped --since 2h\n  phasewalk list --where "attempts > 2" --json\n\n'
    "\b\nExit codes: 0 ok, also when nothing fits; 2 usage, 4 the log cannot be read.",
)
@click.option(
    "--outcome",
    metavar="NAME",
    shell_complete=one_of(OUTCOMES),
    help="Only this outcome; 'running' for turns without an end.",
)
@click.option(
    "--reason", metavar="CODE", shell_complete=reasons, help="Only this reason, of the end or of the first failure."
)
@click.option(
    "--phase",
    metavar="NAME",
    shell_complete=phases,
    help="Only where the reason arose in this phase, or which are in it.",
)
@click.option("--channel", metavar="NAME|ID", shell_complete=channels, help="Only this channel.")
@click.option("--user", metavar="NAME|ID", help="Only this person.")
@click.option("--model", metavar="NAME", help="Only turns that asked this model, provider or provider/model.")
@click.option("--retrying", is_flag=True, help="Only turns that run and have repeated a model call or fallen back.")
@click.option("--since", metavar="TIME", help="Only from this time on: 2h, 7d, 2026-11-30, 2026-11-30T18:00.")
@click.option("--until", metavar="TIME", help="Only before this time.")
@click.option("--where", metavar="SQL", help="Only where this condition on the table 'turn' holds.")
@click.option("--limit", type=click.IntRange(1, 10**9), default=50, show_default=True, help="At most so many.")
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
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    _tidy(filters, zone)
    with opened_log(obj) as log:
        _check(log, filters)
        found = _asked(log, filters, retrying=retrying, where=where, limit=limit)
        truncated, items = len(found) > limit, [_item(log, row, content=content) for row in found[:limit]]
        if as_json or jsonl:
            print_items(log, items, jsonl=jsonl, truncated=truncated)
        elif items:
            emit(_lines(items, zone))
        else:
            emit([f"no turn fits; {covers(log, zone)}"])
    if truncated:
        click.echo(f"phasewalk: these are the newest {limit}; there are more, see --limit", err=True)


def _tidy(filters: dict[str, Any], zone: Zone) -> None:
    """Times become numbers; the signs before names of channels and people go."""
    for name in ("since", "until"):
        filters[name] = instant(filters[name], zone) if filters[name] is not None else None
    for name, sign in (("channel", "#"), ("user", "@")):
        filters[name] = filters[name].removeprefix(sign) if filters[name] is not None else None


def _check(log: sqlite3.Connection, filters: dict[str, Any]) -> None:
    """A mistyped word must not look like "there was none"."""
    for name, words in (("outcome", lambda _: OUTCOMES), ("reason", reason_codes), ("phase", phase_names)):
        given = filters[name]
        accepted: Sequence[str] = words(log) if given is not None else ()
        if accepted and given not in accepted:
            near = difflib.get_close_matches(given, accepted, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"expected one of {', '.join(accepted)}"
            raise click.UsageError(f"--{name}: no {name} is called '{harmless(given)}'; {hint}")


def _asked(
    log: sqlite3.Connection, filters: dict[str, Any], *, retrying: bool, where: str | None, limit: int
) -> list[Row]:
    """The turns; a wrong `--where` is the operator's mistake and not the file's."""
    try:
        return list_turns(log, filters, retrying=retrying, where=where, limit=limit)
    except UnicodeEncodeError as error:
        raise CommandError("an option holds bytes that are not UTF-8 text", Exit.USAGE) from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        if where is None or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            raise
        said = harmless(f'--where: {error}; expected a condition such as "attempts > 2"')
        raise CommandError(said, Exit.USAGE) from error


def _item(log: sqlite3.Connection, row: Row, *, content: bool) -> Row:
    digest = row.pop("text_digest")
    return {**row, "text": text_of(log, str(digest)) if content else None}


def _lines(items: list[Row], zone: Zone) -> list[str]:
    width = terminal_width()
    head = (f"STARTED, {zone.name}", *HEAD)
    first, *others = table(head, [_line(item, zone) for item in items], width)
    lines = [coloured(first, "1")]
    for line, item in zip(others, items, strict=True):
        lines.append(line)
        if item["text"] is not None:
            lines.extend(wrap(f"    {harmless(item['text'])}", width, "    "))
    return lines


def _line(item: Row, zone: Zone) -> list[object]:
    why = f"{item['reason']} in {item['phase']}" if item["reason"] else f"in {item['phase']}"
    first = f" (first {item['first_reason']})" if item["first_reason"] not in (None, item["reason"]) else ""
    where = f"#{item['channel_name'] or item['channel_id']} {item['user_name'] or item['user_id']}"
    return [zone.full(int(str(item["started_us"]))), item["turn_id"], item["outcome"], why + first, where]
