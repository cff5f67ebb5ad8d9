"""`phasewalk search`: where something was said."""

import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from phasewalk.storage.queries import Row
from phasewalk.storage.search import candidates, excerpt, holds, words_of
from phasewalk.surfaces.cli.completing import channels
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, instant, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

BEFORE, AFTER = 40, 60
"""Characters of a text that are shown before and after the word."""

COLUMNS = {
    "text": "m.text",
    "entry_id": "m.entry_id",
    "turn_id": "m.turn_id",
    "at": "m.at",
    "at_us": "m.at_us",
    "channel_id": "m.channel_id",
    "channel_name": "t.channel_name",
    "role": "m.role",
    "author_id": "m.author_id",
    "author": "m.author",
    "state": "m.state",
    "message_id": "m.message_id",
}
FILTERS = {
    "channel": ":channel IN (m.channel_id, t.channel_name)",
    "user": ":user IN (m.author_id, m.author, t.user_id, t.user_name)",
    "since": "m.at_us >= :since",
    "until": "m.at_us < :until",
}
UNHEARD = {"in_doubt": " (nobody knows whether it arrived)", "failed": " (not delivered)"}


@click.command(
    epilog='\b\nExamples:\n  phasewalk search "brass key" --since 7d\n  phasewalk search --channel general -- -5\n\n'
    "\b\nExit codes: 0 found, 1 nothing found, 2 usage, 4 the log cannot be read.",
)
@click.argument("text", nargs=-1, required=True)
@click.option("--channel", metavar="NAME|ID", shell_complete=channels, help="Only this channel.")
@click.option("--user", metavar="NAME|ID", help="Only what this person said or was answered.")
@click.option("--since", metavar="TIME", help="Only from this time on: 2h, 7d, 2026-11-30, 2026-11-30T18:00.")
@click.option("--until", metavar="TIME", help="Only before this time.")
@click.option("--limit", type=click.IntRange(1, 10**9), default=20, show_default=True, help="At most so many.")
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    text: tuple[str, ...],
    limit: int,
    as_json: bool,
    jsonl: bool,
    utc: bool,
    tz: str | None,
    **filters: Any,
) -> None:
    """Find messages and answers that hold each word of TEXT, anywhere and in any case, the newest first.

    Every character counts; there are no operators. A TEXT that begins with '-' stands behind '--'.
    """
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    words = _words(text, filters)
    _tidy(filters, zone)
    with opened_log(obj) as log:
        found = list(islice(_hits(log, words, filters), limit + 1))
        truncated, items = len(found) > limit, found[:limit]
        if as_json or jsonl:
            print_items(log, items, jsonl=jsonl, truncated=truncated)
        elif items:
            emit([*(line for item in items for line in _lines(item, zone)), f"times: {zone.name}"])
        else:
            emit([f"{_none(words, filters)}; {covers(log, zone)}"])
        if jsonl and not items:
            click.echo(f"phasewalk: {_none(words, filters)}; {covers(log, zone)}", err=True)
    if truncated:
        click.echo(f"phasewalk: these are the newest {limit}; there are more, see --limit", err=True)
    if not items:
        raise SystemExit(int(Exit.CONDITION))


def _words(text: tuple[str, ...], filters: dict[str, Any]) -> list[str]:
    """The words to look for; what cannot be one must not look like "there was none"."""
    try:
        " ".join([*text, *(value for value in filters.values() if value is not None)]).encode()
    except UnicodeEncodeError as error:
        raise CommandError("TEXT or an option holds bytes that are not UTF-8 text", Exit.USAGE) from error
    words = words_of(" ".join(text))
    if not words:
        raise click.UsageError("TEXT holds nothing but blanks; expected at least one character")
    return words


def _tidy(filters: dict[str, Any], zone: Zone) -> None:
    """Times become numbers; the signs before names of channels and people go."""
    for name in ("since", "until"):
        filters[name] = instant(filters[name], zone) if filters[name] is not None else None
    for name, sign in (("channel", "#"), ("user", "@")):
        filters[name] = filters[name].removeprefix(sign) if filters[name] is not None else None


def _hits(log: sqlite3.Connection, words: list[str], filters: dict[str, Any]) -> Iterator[Row]:
    asked = {name: value for name, value in filters.items() if value is not None}
    for row in candidates(log, ", ".join(COLUMNS.values()), words, [FILTERS[name] for name in asked], asked):
        if holds(str(row[0]), words):
            item = dict(zip(COLUMNS, row, strict=True))
            yield {"excerpt": excerpt(str(row[0]), words, BEFORE, AFTER), **item}


def _none(words: list[str], filters: dict[str, Any]) -> str:
    """What was not found, and within what."""
    named = " and ".join(f"'{word}'" for word in words)
    limits = [f"--{name}" for name, value in filters.items() if value is not None]
    within = f" within {', '.join(limits)}" if limits else ""
    return harmless(f"nothing that was said holds {named}{within}")


def _lines(item: Row, zone: Zone) -> Iterator[str]:
    width = terminal_width()
    where = f"#{item['channel_name'] or item['channel_id']}"
    head = f"{zone.full(int(str(item['at_us'])))}  {where}  {item['author'] or item['author_id'] or item['role']}"
    yield coloured(harmless(head + UNHEARD.get(str(item["state"]), "")), "1")
    yield from wrap(harmless(f"  {item['excerpt']}"), width, "  ")
    if item["turn_id"] is not None:
        yield harmless(f"  next: phasewalk show {item['turn_id']}")
