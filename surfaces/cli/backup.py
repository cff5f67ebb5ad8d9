"""`phasewalk backup`: a consistent copy of the log while the bot runs (LOG-13)."""

from pathlib import Path
from typing import Any

import click

from phasewalk.machine.errors import StorageError
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import emit
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.where import database_path


@click.command(
    epilog="\b\nExamples:\n  phasewalk backup monday.db\n  phasewalk --db bot.db backup /srv/backups/bot.db\n\n"
    "\b\nExit codes: 0 the copy is whole and checked, 2 usage, 4 the log cannot be read or the copy\nnot be made.",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def command(obj: dict[str, Any], /, *, file: Path) -> None:
    """Copy the log into the new file FILE, as it stands at one moment; nobody who writes it waits."""
    from phasewalk.storage.backup import backup

    if file.exists():
        raise CommandError(harmless(f"{file}: exists already; a new name is expected"), Exit.USAGE)
    try:
        covered = backup(database_path(obj), file)
    except StorageError as error:
        raise CommandError(harmless(error), Exit.UNREADABLE) from error
    size = file.stat().st_size / 1_000_000
    turns = "1 turn" if covered.turns == 1 else f"{covered.turns} turns"
    emit([harmless(f"{file}: {turns}, {size:.1f} MB, whole"), harmless(f"next: phasewalk restore --check {file}")])
