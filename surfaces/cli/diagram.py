"""`phasewalk diagram`: a machine drawn from its table, with one turn's path or the traffic of a log over it."""

from pathlib import Path
from typing import Any

import click

from phasewalk.machine.diagram.drift import drift
from phasewalk.machine.diagram.formats import FORMATS
from phasewalk.machine.diagram.graph import Graph, graph_of, graph_of_document
from phasewalk.machine.diagram.overlay import PLAIN, Overlay
from phasewalk.machine.summary_table import SUMMARY_TABLE
from phasewalk.machine.table import Table
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.surfaces.cli.exits import CommandError, Exit

TABLES = {table.name: table for table in (TURN_TABLE, SUMMARY_TABLE)}


@click.command(
    epilog="\b\nExamples:\n  phasewalk diagram --format mermaid > turn.mmd\n  phasewalk diagram --turn last --format text\n\n"
    "\b\nExit codes: 0 ok, 1 the checked file differs from the table, 2 usage, 3 no such turn,\n4 the log cannot be read.",
)
@click.argument("machine", type=click.Choice(list(TABLES)), default="turn")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option("--turn", "name", help="Lay the path of this turn over it (id, prefix, last, message link).")
@click.option("--heat", is_flag=True, help="Lay over it how often each transition was taken.")
@click.option("--since", help="With --heat: only turns from this time on (2026-11-30, 2h, 7d).")
@click.option("--check", type=click.Path(path_type=Path), help="Compare FILE with the table instead of drawing.")
@click.pass_obj
def command(
    obj: dict[str, Any],
    machine: str,
    form: str,
    name: str | None,
    heat: bool,
    since: str | None,
    check: Path | None,
) -> None:
    """Draw MACHINE from its table."""
    graph = graph_of(TABLES[machine])
    if check is not None:
        _check(graph, check, form)
        return
    if name is not None and heat:
        raise click.UsageError("--turn and --heat are two pictures; ask for one")
    overlay = PLAIN
    if name is not None:
        graph, overlay = _path(obj, name)
    elif heat:
        overlay = _heat(obj, since, TABLES[machine])
    click.echo(FORMATS[form].render(graph, overlay), nl=False)


def _check(graph: Graph, path: Path, form: str) -> None:
    """Say how the file differs from the table; status 1 when it does."""
    by_suffix = {renderer.suffix: name for name, renderer in FORMATS.items()}
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: cannot be read ({error})", Exit.NOT_FOUND) from error
    problems = drift(graph, text, by_suffix.get(path.suffix, form))
    for problem in problems:
        click.echo(problem)
    if problems:
        raise SystemExit(int(Exit.CONDITION))


def _path(obj: dict[str, Any], name: str) -> tuple[Graph, Overlay]:
    """The machine as it was when the turn ran, and the way that the turn took."""
    import json

    from phasewalk.storage.queries import machine_of, path_of
    from phasewalk.surfaces.cli.naming import one_turn
    from phasewalk.surfaces.cli.where import opened_log

    with opened_log(obj) as log:
        turn_id = one_turn(log, name)
        return graph_of_document(json.loads(machine_of(log, turn_id))), Overlay(path=tuple(path_of(log, turn_id)))


def _heat(obj: dict[str, Any], since: str | None, table: Table) -> Overlay:
    """The traffic of the log over the present machine."""
    from phasewalk.storage.queries import heat_of
    from phasewalk.surfaces.cli.times import instant
    from phasewalk.surfaces.cli.where import opened_log

    since_us = None if since is None else instant(since)
    with opened_log(obj) as log:
        return Overlay(heat=heat_of(log, table.digest, since_us))
