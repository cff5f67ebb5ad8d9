"""What the commands that change the log share: who the operator is, and one sentence for what goes wrong."""

import getpass
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from phasewalk.machine.errors import StorageError, UnreadableLogError
from phasewalk.storage.operators import Action, change
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.where import database_path

T = TypeVar("T")


def operator() -> str:
    """The system user who types the command."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return "unknown"


def changed(obj: dict[str, Any], work: Callable[[sqlite3.Connection, int], Action | None]) -> Action | None:
    """Do `work` on the log, which must exist; see `change`."""
    return on_the_log(obj, lambda path: change(path, work))


def on_the_log(obj: dict[str, Any], work: Callable[[Path], T]) -> T:
    """What `work` makes of the file of the log, which must exist; what goes wrong is one sentence and status 4."""
    path = database_path(obj)
    try:
        if not path.exists():
            raise UnreadableLogError(f"{path}: no such file; there is nothing to change")
        return work(path)
    except StorageError as error:
        raise CommandError(str(error), Exit.UNREADABLE) from error
    except sqlite3.Error as error:
        raise CommandError(f"{path}: cannot be changed ({error})", Exit.UNREADABLE) from error
