"""`phasewalk export`: turns for other programs, or for a colleague."""

import sqlite3
from pathlib import Path
from typing import Any

import click

from phasewalk.storage.exchange import rows_lost, texts_pruned
from phasewalk.storage.queries import covered_period, turns_between
from phasewalk.surfaces.cli.completing import turn_names
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.exporting import FORMATS, lines
from phasewalk.surfaces.cli.naming import names_of, one_turn
from phasewalk.surfaces.cli.output import covers, write_lines
from phasewalk.surfaces.cli.times import instant
from phasewalk.surfaces.cli.where import opened_log

WHOLE = "jsonl"


@click.command(
    epilog="\b\nExamples:\n  phasewalk export last --output turn.jsonl\n"
    "  phasewalk list --outcome stopped --jsonl | phasewalk export - --format otlp-json\n\n"
    "\b\nExit codes: 0 ok, 2 usage, 3 no such turn or several, 4 the log cannot be read,\n5 something of it was pruned or lost.",
)
@click.argument("turns", nargs=-1, shell_complete=turn_names)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=WHOLE,
    show_default=True,
    help="jsonl holds everything, to be read by 'show --from'; otlp-json is one trace a line, csv one turn a line.",
)
@click.option("--since", metavar="TIME", help="Only turns from this time on: 2h, 7d, 2026-11-30.")
@click.option("--until", metavar="TIME", help="Only turns before this time.")
@click.option("--content", is_flag=True, help="Also what was said, in otlp-json and csv; jsonl always holds it.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to FILE, whole or not at all."
)
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    turns: tuple[str, ...],
    form: str,
    since: str | None,
    until: str | None,
    content: bool,
    output: Path | None,
) -> None:
    """Write TURNS, or all of a period: ids, prefixes, 'last', message links, '-' for names on standard input."""
    if turns and (since is not None or until is not None):
        raise click.UsageError("TURNS and a period are two choices; make one")
    names = names_of(turns) if turns else ()
    from_us, until_us = (None if time is None else instant(time) for time in (since, until))
    with opened_log(obj) as log:
        if turns:
            turn_ids = list(dict.fromkeys(one_turn(log, name) for name in names))
        else:
            turn_ids = turns_between(log, from_us, until_us)
        write_lines(lines(log, turn_ids, form, content=content), output)
        missing = _missing(log, turn_ids, None if turns else from_us or 0, texts=form == WHOLE or content)
        if not turn_ids:
            click.echo(f"phasewalk: no turn fits; {covers(log)}", err=True)
    if missing:
        click.echo(f"phasewalk: the export is incomplete: {'; '.join(missing)}", err=True)
        raise SystemExit(int(Exit.INCOMPLETE))


def _missing(log: sqlite3.Connection, turn_ids: list[str], from_us: int | None, *, texts: bool) -> list[str]:
    """What there once was and is not in it."""
    found = []
    if from_us is not None:
        pruned = covered_period(log).pruned_before_us
        if pruned is not None and pruned > from_us:
            found.append("older turns were pruned")
    gone = texts_pruned(log, turn_ids) if texts else 0
    found += [f"{gone} texts were pruned"] if gone else []
    lost = rows_lost(log, turn_ids)
    return found + ([f"{lost} rows were lost when the log could not be written"] if lost else [])
