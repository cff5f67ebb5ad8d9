"""`phasewalk circuit`: which providers are left alone for a while, and closing a circuit by hand."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import click

from phasewalk.storage.queries import Row, circuits
from phasewalk.surfaces.cli.changing import changed, operator
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import covers, emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, ago, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

COLOURS = {"closed": "32", "open": "31", "half_open": "33"}


@click.command(
    epilog="\b\nExamples:\n  phasewalk circuit\n  phasewalk circuit --reset openai\n\n"
    "\b\nExit codes: 0 ok, 2 usage, 3 no such provider, 4 the log cannot be used.",
)
@click.option("--reset", metavar="PROVIDER", help="Close this provider's circuit: it is asked again at once.")
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any], /, *, reset: str | None, as_json: bool, jsonl: bool, utc: bool, tz: str | None
) -> None:
    """Show the circuits of providers that failed (FB-15), or close one."""
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    if reset is not None:
        _reset(obj, reset)
    with opened_log(obj) as log:
        found = circuits(log, now_us())
        if as_json or jsonl:
            print_items(log, found, jsonl=jsonl)
        elif found:
            emit([*(line for row in found for line in _lines(row, zone)), f"times: {zone.name}"])
        else:
            emit([f"no provider has failed; {covers(log, zone)}"])


def _reset(obj: dict[str, Any], provider: str) -> None:
    from phasewalk.storage.circuits import reset
    from phasewalk.storage.operators import Action

    def work(log: sqlite3.Connection, now: int) -> Action | None:
        before = next((row for row in circuits(log, now) if row["provider"] == provider), None)
        if before is not None and before["state"] == "closed":
            click.echo(harmless(f"the circuit of '{provider}' is closed already"), err=True)
            return None
        if before is None or not reset(log, provider, now):
            known = ", ".join(str(row["provider"]) for row in circuits(log, now)) or "none"
            raise CommandError(
                harmless(f"no circuit of a provider '{provider}'; those that have failed are: {known}"), Exit.NOT_FOUND
            )
        return Action(operator(), "reset a circuit", provider, before["state"], "closed")

    changed(obj, work)


def _lines(row: Row, zone: Zone) -> Iterator[str]:
    now, width = now_us(), terminal_width()
    state = str(row["state"]).replace("_", "-")
    yield coloured(harmless(f"{row['provider']}  {state}"), COLOURS[str(row["state"])])
    if row["opened_us"] is not None:
        opened, until = int(str(row["opened_us"])), int(str(row["open_until_us"]))
        yield from wrap(f"  opened {zone.full(opened)} ({ago(opened, now)}), until {zone.full(until)}", width, "    ")
    if row["state"] == "half_open":
        probe = f"turn {row['probe_turn_id']} tries it" if row["probe_turn_id"] else "the next turn tries it once"
        yield harmless(f"  {probe}")
    if row["last_failure_us"] is not None:
        last = int(str(row["last_failure_us"]))
        counted = f"{row['failures']} counted since it was last well"
        said = f"  last failure {row['last_reason']} {zone.full(last)} ({ago(last, now)}), {counted}"
        yield from wrap(harmless(said), width, "    ")
        yield harmless(f"  next: phasewalk show {row['last_turn_id']}")
