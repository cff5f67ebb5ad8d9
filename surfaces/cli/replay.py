"""`phasewalk replay`: would today's code and configuration decide the same in a turn of the log?"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from phasewalk.machine.errors import ConfigurationError
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.naming import names_of, one_turn
from phasewalk.surfaces.cli.output import emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.replay_lines import Tally, verdict_item, verdict_lines
from phasewalk.surfaces.cli.times import zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log
from phasewalk.surfaces.cli.work import configuration_and_database

if TYPE_CHECKING:
    import sqlite3

    from phasewalk.surfaces.replay.verdict import Verdict


@click.command(
    epilog="\b\nExamples:\n  phasewalk replay last\n"
    "  phasewalk list --jsonl --since 7d --limit 1000 | phasewalk replay -\n\n"
    "\b\nExit codes: 0 the same, 1 something would be decided otherwise, 2 usage or\nconfiguration, 3 no such turn or several, 4 the log cannot be read,\n5 of some turn it cannot be told: a text was pruned, or it has no end.",
)
@click.argument("turns", nargs=-1, required=True)
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any], /, *, turns: tuple[str, ...], as_json: bool, jsonl: bool, utc: bool, tz: str | None
) -> None:
    """Walk TURNS again by today's code and configuration, from their recorded inputs, and compare every decision.

    Asks no model, runs no tool, tells nobody anything, opens no socket and writes nothing.
    """
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    names = names_of(turns)
    tally = Tally()
    with opened_log(obj) as log:
        found = map(tally.noted, _replayed(log, obj, [one_turn(log, name) for name in names]))
        if as_json or jsonl:
            print_items(log, map(verdict_item, found), jsonl=jsonl)
        else:
            for verdict in found:
                emit(verdict_lines(verdict, zone))
    _end(tally)


def _replayed(log: "sqlite3.Connection", obj: dict[str, Any], turn_ids: Iterable[str]) -> "Iterator[Verdict]":
    """The verdict on each turn, in order, as it is found."""
    from phasewalk.storage.scratch_log import ScratchLog
    from phasewalk.surfaces.replay.sealed import sealed
    from phasewalk.surfaces.replay.today import today
    from phasewalk.surfaces.replay.verdict import replay

    configuration, _ = configuration_and_database(obj)
    try:
        with sealed():
            now = today(configuration)
    except ConfigurationError as error:
        raise CommandError(str(error), Exit.USAGE) from error
    scratch = ScratchLog()
    return (replay(log, scratch, turn_id, now) for turn_id in turn_ids)


def _end(tally: Tally) -> None:
    """What cannot be told, what many turns come to, and the exit status."""
    for sentence in (*tally.untold, *([tally.sentence] if tally.turns > 1 else [])):
        click.echo(f"phasewalk: {sentence}", err=True)
    if tally.counts["differs"]:
        raise SystemExit(int(Exit.CONDITION))
    if tally.counts["untold"]:
        raise SystemExit(int(Exit.INCOMPLETE))
