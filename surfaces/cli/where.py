"""Where the log lies, and opening it for looking; light, since looking must be fast (OPS-15)."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phasewalk.machine.errors import StorageError
from phasewalk.storage.database import open_for_reading
from phasewalk.surfaces.cli.exits import CommandError, Exit


def database_path(obj: dict[str, Any]) -> Path:
    """`--db`, else `[storage] path` of the configuration, else `phasewalk.db` here."""
    if obj["db"] is not None:
        return Path(obj["db"])
    file = obj["config"] or Path("phasewalk.toml")
    if obj["config"] is None and not file.exists():
        return Path("phasewalk.db")
    import tomllib

    try:
        storage = tomllib.loads(file.read_text("utf-8")).get("storage", {})
    except OSError as error:
        raise CommandError(f"{file}: cannot be read ({error.strerror})", Exit.USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: not TOML: {error}", Exit.USAGE) from error
    path = storage.get("path", "phasewalk.db") if isinstance(storage, dict) else "phasewalk.db"
    return Path(file.parent / str(path))


@contextmanager
def opened_log(obj: dict[str, Any]) -> Iterator[sqlite3.Connection]:
    """A read-only connection; what keeps the log from being read is one sentence and status 4."""
    path = database_path(obj)
    try:
        connection = open_for_reading(path)
    except StorageError as error:
        raise CommandError(str(error), Exit.UNREADABLE) from error
    try:
        yield connection
    except sqlite3.DatabaseError as error:
        raise CommandError(f"{path}: cannot be read ({error})", Exit.UNREADABLE) from error
    finally:
        connection.close()
