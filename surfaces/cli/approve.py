"""`phasewalk approve`: which tool calls wait for a permission, and permitting one of them, once (CON-26)."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import click

from phasewalk.storage.queries import Row, open_approvals
from phasewalk.surfaces.cli.changing import changed, operator
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, ago, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log


@click.command(
    epilog="\b\nExamples:\n  phasewalk approve\n  phasewalk approve 7KQ2MX\n\n"
    "\b\nExit codes: 0 ok, 2 usage, 3 no call of this id waits, 4 the log cannot be used.",
)
@click.argument("approval_id", required=False)
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any], /, *, approval_id: str | None, as_json: bool, jsonl: bool, utc: bool, tz: str | None
) -> None:
    """List the calls that wait for a permission, or permit exactly the call APPROVAL_ID, for its person, once."""
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    if approval_id is not None:
        _approve(obj, approval_id.strip().upper())
    with opened_log(obj) as log:
        found = [
            row
            for row in open_approvals(log)
            if approval_id is None or row["approval_id"] == approval_id.strip().upper()
        ]
        if as_json or jsonl:
            print_items(log, found, jsonl=jsonl)
        elif found:
            emit([*(line for row in found for line in _lines(row, zone)), f"times: {zone.name}"])
        else:
            emit([f"no call waits for a permission; {covers(log, zone)}"])


def _approve(obj: dict[str, Any], name: str) -> None:
    from phasewalk.storage.approvals import approve
    from phasewalk.storage.operators import Action

    def work(log: sqlite3.Connection, now: int) -> Action | None:
        known = {str(row["approval_id"]): row for row in open_approvals(log)}
        if not approve(log, name, operator(), now):
            waiting = ", ".join(key for key, row in known.items() if row["state"] == "waiting") or "none"
            already = "it is permitted already" if name in known else f"those that wait: {waiting}"
            raise CommandError(harmless(f"no call '{name}' waits for a permission; {already}"), Exit.NOT_FOUND)
        call = known[name]
        return Action(operator(), "permit a call", name, "waiting", {"tool": call["tool"], "user_id": call["user_id"]})

    changed(obj, work)


def _lines(row: Row, zone: Zone) -> Iterator[str]:
    asked, width = int(str(row["asked_us"])), terminal_width()
    yield coloured(harmless(f"{row['approval_id']}  {row['state']}"), "33" if row["state"] == "waiting" else "32")
    yield from wrap(harmless(f"  {row['tool']} {row['arguments']}"), width, "    ")
    who = f"{row['user_name'] or row['user_id']}, asked {zone.full(asked)} ({ago(asked, now_us())})"
    yield from wrap(harmless(f"  for {who}, in turn {row['turn_id']}"), width, "    ")
    if row["state"] == "waiting":
        yield harmless(f"  next: phasewalk approve {row['approval_id']}")
    else:
        yield harmless(f"  permitted by {row['approved_by']}; used when {row['user_name'] or 'the person'} asks again")
