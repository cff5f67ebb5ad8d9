"""`phasewalk diagram`: a machine drawn from its table, with one turn's path or the traffic of a log over it.

Pictures are made as text by `machine.diagram`; a PNG is its SVG drawn by resvg, which the extra `png` brings (OPS-21).
"""

import sys
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
from phasewalk.surfaces.cli.completing import turn_names
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import hand_over

TABLES = {table.name: table for table in (TURN_TABLE, SUMMARY_TABLE)}
PNG = "png"
PNG_ZOOM = 2.0


@click.command(
    epilog="\b\nExamples:\n  phasewalk diagram --turn last --format text\n"
    "  phasewalk diagram --heat --since 7d --format svg --output heat.svg\n\n"
    "\b\nExit codes: 0 ok, 1 the checked file differs from the table, 2 usage, 3 no such turn,\n4 the log cannot be read.",
)
@click.argument("machine", type=click.Choice(list(TABLES)), default="turn")
@click.option("--format", "form", type=click.Choice([*FORMATS, PNG]), default="text", show_default=True)
@click.option(
    "--turn",
    "name",
    shell_complete=turn_names,
    help="Lay the path of this turn over it (id, prefix, last, message link).",
)
@click.option("--heat", is_flag=True, help="Lay over it how often each transition was taken.")
@click.option("--since", help="With --heat: only turns from this time on (2026-11-30, 2h, 7d).")
@click.option("--check", type=click.Path(path_type=Path), help="Compare FILE with the table instead of drawing.")
@click.option("--output", type=click.Path(path_type=Path), help="Write the picture to FILE.")
@click.pass_obj
def command(
    obj: dict[str, Any],
    machine: str,
    form: str,
    name: str | None,
    heat: bool,
    since: str | None,
    check: Path | None,
    output: Path | None,
) -> None:
    """Draw MACHINE from its table."""
    graph = graph_of(TABLES[machine])
    if check is not None:
        _check(graph, check, form)
        return
    if name is not None and heat:
        raise click.UsageError("--turn and --heat are two pictures; ask for one")
    if form == PNG and output is None and sys.stdout.isatty():
        raise click.UsageError("a PNG is nothing for a terminal; say where it goes with --output FILE")
    overlay = PLAIN
    if name is not None:
        graph, overlay = _path(obj, name)
    elif heat:
        overlay = _heat(obj, since, TABLES[machine])
    hand_over(
        _png(FORMATS["svg"].render(graph, overlay)) if form == PNG else FORMATS[form].render(graph, overlay), output
    )


def _png(svg: str) -> bytes:
    """The picture drawn by resvg, which has no types of its own that are always there."""
    import importlib

    from phasewalk.machine.diagram.svg_style import STYLE

    try:
        draw = importlib.import_module("resvg_py").svg_to_bytes
    except ImportError as error:
        raise CommandError("a PNG needs one more package: pip install 'phasewalk[png]'", Exit.USAGE) from error
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" class="phasewalk" width="9" height="9"><style>{STYLE}</style>'
    if draw(svg_string=f'{frame}<text y="9">M</text></svg>') == draw(svg_string=f"{frame}</svg>"):
        raise CommandError("a PNG needs a font, and this system has none; install fonts-dejavu-core", Exit.USAGE)
    return bytes(draw(svg_string=svg, zoom=PNG_ZOOM))


def _check(graph: Graph, path: Path, form: str) -> None:
    """Say how the file differs from the table; status 1 when it does."""
    by_suffix = {renderer.suffix: name for name, renderer in FORMATS.items()}
    name = PNG if path.suffix == f".{PNG}" else by_suffix.get(path.suffix, form)
    if name == PNG:
        raise click.UsageError("a PNG is not compared; check the SVG that it is drawn from")
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: cannot be read ({error})", Exit.NOT_FOUND) from error
    problems = drift(graph, text, name)
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
