"""`phasewalk restore`: a checked copy takes the place of the log (LOG-13)."""

import sqlite3
from pathlib import Path
from typing import Any

import click

from phasewalk.machine.errors import StorageError
from phasewalk.surfaces.cli.changing import operator
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import emit
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.where import database_path


@click.command(
    epilog="\b\nExamples:\n  phasewalk restore --check monday.db\n  phasewalk --db bot.db restore monday.db\n\n"
    "\b\nExit codes: 0 ok, 2 usage, 3 no such file, 4 FILE is no whole log, a process has the log open,\nor the place cannot be written.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--check", is_flag=True, help="Only check FILE; replace nothing.")
@click.pass_obj
def command(obj: dict[str, Any], /, *, file: Path, check: bool) -> None:
    """Check FILE, a copy of a log, and put it in the place of the log; the one before is kept beside it."""
    from phasewalk.storage.backup import restore

    path = database_path(obj)
    if not file.exists():
        raise CommandError(
            harmless(f"{file}: no such file; a copy that 'phasewalk backup' made is expected"), Exit.NOT_FOUND
        )
    if path.exists() and path.samefile(file):
        raise CommandError(harmless(f"{file}: is the log itself; a copy of it is expected"), Exit.USAGE)
    try:
        covered, aside = restore(path, file, operator(), only_check=check)
    except StorageError as error:
        raise CommandError(harmless(f"{error}; nothing was replaced"), Exit.UNREADABLE) from error
    except sqlite3.Error as error:
        raise CommandError(harmless(f"{path}: cannot be replaced ({error})"), Exit.UNREADABLE) from error
    turns = "1 turn" if covered.turns == 1 else f"{covered.turns} turns"
    if check:
        emit([harmless(f"{file}: {turns}, whole, no dangling rows; nothing was replaced")])
        return
    lines = [f"{path}: {turns}, from {file}, whole, no dangling rows"]
    lines += [f"the log before is kept as {aside}"] if aside is not None else []
    emit([harmless(line) for line in [*lines, "next: phasewalk status"]])
