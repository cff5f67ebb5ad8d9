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

DATABASE = "phasewalk.db"


def database_path(obj: dict[str, Any]) -> Path:
    """`--db`, else `[storage] path` of the configuration, else `phasewalk.db` beside the configuration or here."""
    if obj["db"] is not None:
        return Path(obj["db"])
    file = Path(obj["config"] or "phasewalk.toml")
    if obj["config"] is None and not file.exists():
        return Path(DATABASE)
    return file.parent / _named_in(file)


def _named_in(file: Path) -> str:
    import tomllib

    try:
        storage = tomllib.loads(file.read_text("utf-8")).get("storage", {})
    except OSError as error:
        raise CommandError(f"{file}: cannot be read ({error.strerror})", Exit.USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: not TOML: {error}", Exit.USAGE) from error
    path = storage.get("path", DATABASE) if isinstance(storage, dict) else None
    if not isinstance(path, str):
        raise CommandError(f"{file}: 'storage.path' is no text; expected the path of the log", Exit.USAGE)
    return path


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
    try:
        connection.execute("BEGIN")  # every question of one answer is asked of the same state
        yield connection
    except (sqlite3.Error, StorageError) as error:
        raise CommandError(f"{path}: cannot be read ({error})", Exit.UNREADABLE) from error
    finally:
        connection.close()


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
