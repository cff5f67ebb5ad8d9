"""`phasewalk tail`: what is happening now, one line an event, in the order in which it was written down."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from phasewalk.storage.events import Newest, before_newest, events_since, newest, newest_until, oldest
from phasewalk.storage.queries import Row
from phasewalk.surfaces.cli.completing import channels
from phasewalk.surfaces.cli.exits import CommandError
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, json_text, print_items, read_on
from phasewalk.surfaces.cli.render import coloured, harmless, pad, terminal_width, wrap
from phasewalk.surfaces.cli.show_lines import outcome_colour
from phasewalk.surfaces.cli.times import Zone, lasting, zone_of, zone_options
from phasewalk.surfaces.cli.where import database_path, opened_log

LOOK_EVERY = 0.2
"""Seconds between two looks at whether something was written."""

TIME, TURN, PHASE = 23, 14, 17
"""Columns: lines come one by one, so nothing can be measured first."""


@click.command(
    epilog="\b\nExamples:\n  phasewalk tail -f --channel help\n  phasewalk tail --since-id 48211 --jsonl\n\n"
    "\b\nExit codes: 0 ok, also when nothing happened; 2 usage, 4 the log cannot be read, 130 Ctrl-C.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--since-id", type=click.IntRange(min=0), metavar="ID", help="Everything after this event.")
@click.option("-n", "--lines", type=click.IntRange(0, 10**9), default=20, show_default=True, help="The newest so many.")
@click.option("--channel", metavar="NAME|ID", shell_complete=channels, help="Only this channel.")
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    follow: bool,
    since_id: int | None,
    lines: int,
    channel: str | None,
    as_json: bool,
    jsonl: bool,
    utc: bool,
    tz: str | None,
) -> None:
    """Tell each entry and exit of a phase as it stands in the log, the newest last."""
    exclusive(json=as_json, jsonl=jsonl)
    exclusive(json=as_json, follow=follow)
    zone = zone_of(utc=utc, tz=tz)
    wanted = None if channel is None else channel.removeprefix("#")
    seen = _first_look(obj, since_id, lines, wanted, None if as_json or jsonl else zone, as_json=as_json, follow=follow)
    if follow and seen is not None:
        _follow(obj, seen, wanted, None if jsonl else zone)


class Seen(NamedTuple):
    """How far the log was told: which file, up to which event."""

    file: tuple[int, int] | None
    last: Newest


def _first_look(
    obj: dict[str, Any],
    since_id: int | None,
    lines: int,
    channel: str | None,
    zone: Zone | None,
    *,
    as_json: bool,
    follow: bool,
) -> Seen | None:
    """Tell what stands there; None when nobody reads any more."""
    file = _file(database_path(obj))
    with opened_log(obj) as log:
        first, last = oldest(log), newest(log)
        since = before_newest(log, lines, channel) if since_id is None else since_id
        if since > last.event_id:
            click.echo(f"phasewalk: there is no event {since} yet; the newest is {last.event_id}", err=True)
        if since_id is not None and since_id + 1 < first:
            click.echo(f"phasewalk: events before {first} are gone; {covers(log, zone)}", err=True)
        events = events_since(log, since, channel)
        if zone is None:
            read = print_items(log, events, jsonl=not as_json)
        elif since >= last.event_id and not follow:
            read = emit([f"nothing happened; {covers(log, zone)}"])
        else:
            head = f"{pad(f'TIME, {zone.name}', TIME)}  {pad('TURN', TURN)}  {pad('PHASE', PHASE)}  WHAT"
            read = emit([coloured(head, "1")]) and _tell(events, zone)
    return Seen(file, last) if read else None


def _follow(obj: dict[str, Any], seen: Seen, channel: str | None, zone: Zone | None) -> None:
    """Go on where the first look ended. The log is open during a look only, so that it can be replaced between two."""
    path = database_path(obj)
    while read_on():
        time.sleep(LOOK_EVERY)
        file = _file(path)
        try:
            with opened_log(obj) as log:
                since = seen.last.event_id if file == seen.file else newest_until(log, seen.last.at_us)
                seen = Seen(file, newest(log))
                if since < seen.last.event_id and not _tell(events_since(log, since, channel), zone):
                    return
        except CommandError:
            if path.exists():
                raise


def _file(path: Path) -> tuple[int, int] | None:
    """What tells one file from another of the same name."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _tell(events: Iterator[Row], zone: Zone | None) -> bool:
    """Print events as they come; whether somebody still reads."""
    if zone is None:
        return emit(json_text(event) for event in events)
    return emit(line for event in events for line in _lines(event, zone))


def _lines(event: Row, zone: Zone) -> list[str]:
    first, *rest = wrap(_line(event, zone), terminal_width(), " " * TIME + "  ")
    return [coloured(first, outcome_colour(str(event["outcome"]))) if event["outcome"] else first, *rest]


def _line(event: Row, zone: Zone) -> str:
    at_us = int(str(event["at_us"]))
    when = f"{zone.full(at_us)}.{at_us // 1000 % 1000:03}"
    phase = f"{event['phase']} {event['visit']}" if event["visit"] != 1 else str(event["phase"])
    return harmless(f"{when}  {pad(str(event['turn_id']), TURN)}  {pad(phase, PHASE)}  {_what(event)}").rstrip()


def _what(event: Row) -> str:
    """An entry says where the turn is; an exit what happened, how long it took, and why; the last one the end."""
    if event["outcome"] is not None:
        return f"{event['outcome']}, {event['ended_by']}"
    if event["kind"] == "enter":
        return "begins" if event["seq"] != 1 else _begins(event)
    took = "" if event["took_ms"] is None else f", {lasting(float(str(event['took_ms'])) / 1000)}"
    reason = f", {event['reason']}" if event["reason"] else ""
    return f"{event['transition']} {event['event']} -> {event['to_phase']}{reason}{took}"


def _begins(event: Row) -> str:
    who = event["user_name"] or event["user_id"]
    where = f"#{event['channel_name'] or event['channel_id']}"
    return f"begins: {event['turn_kind']} turn{f' of {who}' if who else ''} in {where}"
