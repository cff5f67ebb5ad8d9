"""Where the log lies, and opening it for looking; light, since looking must be fast (OPS-15).

Owns the path as looking commands find it, without checking the rest of the configuration: a wrong key elsewhere
keeps nobody from looking. Invariant: what is opened here cannot be written.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from phasewalk.machine.errors import StorageError, UnreadableLogError
from phasewalk.storage.database import open_for_reading
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.thresholds import Thresholds, thresholds_of

DATABASE = "phasewalk.db"


def database_path(obj: dict[str, Any]) -> Path:
    """`--db`, else `[storage] path` of the configuration, else `phasewalk.db` beside the configuration or here."""
    if obj["db"] is not None:
        return Path(obj["db"])
    file, document = _configuration(obj)
    if document is None:
        return Path(DATABASE)
    storage = document.get("storage", {})
    path = storage.get("path", DATABASE) if isinstance(storage, dict) else None
    if not isinstance(path, str):
        raise CommandError(f"{file}: 'storage.path' is no text; expected the path of the log", Exit.USAGE)
    return file.parent / path


def thresholds(obj: dict[str, Any]) -> Thresholds:
    """`[check]` of the configuration, else the usual ones."""
    file, document = _configuration(obj)
    try:
        return thresholds_of({} if document is None else document.get("check", {}))
    except ValueError as error:
        raise CommandError(f"{file}: 'check': {error}", Exit.USAGE) from error


def thresholds_or_usual(obj: dict[str, Any]) -> Thresholds:
    """The same for a screen that must come: what is wrong with them is said on standard error."""
    try:
        return thresholds(obj)
    except CommandError as error:
        click.echo(f"phasewalk: {error.format_message()}; the usual thresholds are taken", err=True)
        return Thresholds()


def _configuration(obj: dict[str, Any]) -> tuple[Path, dict[str, Any] | None]:
    """The file and what stands in it, unchecked; None when there is none and none was named."""
    file = Path(obj["config"] or "phasewalk.toml")
    if obj["config"] is None and not file.exists():
        return file, None
    import tomllib

    try:
        return file, tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"{file}: cannot be read ({error.strerror})", Exit.USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: not TOML: {error}", Exit.USAGE) from error


@contextmanager
def opened_log(obj: dict[str, Any]) -> Iterator[sqlite3.Connection]:
    """A read-only view of the log as it stands now; what keeps it from being read is one sentence and status 4."""
    path = database_path(obj)
    try:
        if "from" in obj:
            path = obj["from"]
            connection = _exported(path)
        else:
            connection = open_for_reading(path)
    except StorageError as error:
        raise CommandError(str(error), Exit.UNREADABLE) from error
    connection.set_progress_handler(lambda: 0, LOOK_UP_EVERY)  # Ctrl-C is heard between two calls
    try:
        connection.execute("BEGIN")  # every question of one answer is asked of the same state
        yield connection
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from error
        raise CommandError(f"{path}: cannot be read ({error})", Exit.UNREADABLE) from error
    except (sqlite3.Error, StorageError) as error:
        raise CommandError(f"{path}: cannot be read ({error})", Exit.UNREADABLE) from error
    finally:
        connection.close()


LOOK_UP_EVERY = 100_000
"""Steps of SQLite between two looks at whether Ctrl-C was pressed: some milliseconds."""


def from_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--from FILE`: ask an export instead of the log."""

    def chosen(ctx: click.Context, _parameter: click.Parameter, file: Path | None) -> None:
        if file is not None:
            ctx.obj["from"] = file

    return click.option(
        "--from",
        type=click.Path(path_type=Path, dir_okay=False),
        callback=chosen,
        expose_value=False,
        help="Ask an export ('phasewalk export --format jsonl') instead of the log.",
    )(command)


def _exported(path: Path) -> sqlite3.Connection:
    """A log in memory, as an export tells it; raises `UnreadableLogError` for what is none."""
    from phasewalk.storage.exchange import loaded

    try:
        with path.open(encoding="utf-8") as lines:
            return loaded(lines)
    except FileNotFoundError:
        raise CommandError(f"{path}: no such file", Exit.NOT_FOUND) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: cannot be read ({error})", Exit.UNREADABLE) from error
    except UnreadableLogError as error:
        raise UnreadableLogError(f"{path}: {error}") from error
