"""Copies of the log: made while the bot runs, and put in its place after they were checked (LOG-13).

Owns what a copy must pass before it replaces anything, and who stands in the way. Knows no way of printing.
Invariant: the file that is replaced is kept beside; when anything is wrong, nothing was replaced.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from phasewalk.machine.errors import StorageError, UnreadableLogError
from phasewalk.storage.database import SCHEMA_VERSION, open_for_reading, open_for_writing
from phasewalk.storage.health import SILENT_US, Process, processes
from phasewalk.storage.operators import Action, change
from phasewalk.storage.queries import Covered, covered_period

PATIENCE_MS = 2000
"""How long a command that looks into the log is waited for before the file is replaced."""


class InUseError(StorageError):
    """A running process stands in the way."""


def live_processes(log: sqlite3.Connection) -> list[Process]:
    """The processes that may write this log at the moment."""
    recent = time.time_ns() // 1000 - SILENT_US
    return [p for p in processes(log) if p.state == "alive" or (p.state == "unknown" and p.heartbeat_us > recent)]


def told(process: Process) -> str:
    """A process as a sentence names it."""
    return f"process {process.pid} on {process.host} ({process.command})"


def backup(path: Path, target: Path) -> Covered:
    """Copy the log as it stands at one moment into the new file `target`; what the copy covers.

    Raises `StorageError` when the log cannot be read or the copy not be made, whole and checked; then there is no
    `target`.
    """
    part = target.with_name(f"{target.name}.part")
    with closing(open_for_reading(path)) as source:
        _copied(source, part, f"{path}: cannot be copied to {target}")
    try:
        shutil.copymode(path, part)
        covered = _checked(part)
        _name(part, target)
    except FileExistsError as error:
        raise StorageError(f"{target}: exists already; a new name is expected") from error
    except OSError as error:
        raise StorageError(f"{target}: cannot be written ({error.strerror})") from error
    finally:
        _remove(part)
    _settle(target)
    return covered


def restore(path: Path, source: Path, who: str, *, only_check: bool = False) -> tuple[Covered, Path | None]:
    """Put a checked copy of the log `source` in the place of `path`; what it covers, and where the file before is.

    Raises `UnreadableLogError` when `source` is no whole log, `InUseError` while somebody has `path` open, and
    `StorageError` when the place cannot be written.
    """
    part = path.with_name(f"{path.name}.restoring")
    try:
        with closing(open_for_reading(source)) as given:
            _copied(given, part, f"{source}: cannot be copied to {part}")
        covered = _checked(part, source)
        if only_check:
            return covered, None
        change(part, lambda _log, _now: _audit(source, who, path, covered))
        _closed(part)
        with _nobody_else(path):
            aside = _put_aside(path)
            part.replace(path)
        _settle(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be replaced ({error.strerror})") from error
    finally:
        _remove(part)
    return covered, aside


def _copied(source: sqlite3.Connection, part: Path, problem: str) -> None:
    """A whole copy in one step: what is committed meanwhile is not in it, and nobody waits for it."""
    _remove(part)
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as target:
            source.backup(target, pages=-1)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
    except sqlite3.Error as error:
        _remove(part)
        raise UnreadableLogError(f"{problem} ({error})") from error


def _checked(part: Path, named: Path | None = None) -> Covered:
    """What a copy covers; raises `UnreadableLogError` when it is not whole.

    A copy that is to be used (`named` says where it came from) is brought up to date first.
    """
    name = named or part
    try:
        if named is not None:
            open_for_writing(part).close()
        with closing(sqlite3.connect(part, isolation_level=None)) as log:
            (said,) = log.execute("PRAGMA integrity_check(1)").fetchone()
            if said != "ok":
                raise UnreadableLogError(f"{name}: damaged: {' '.join(str(said).split())}")
            dangling = log.execute("PRAGMA foreign_key_check").fetchall()
            if dangling:
                tables = ", ".join(sorted({f"{row[0]} without {row[2]}" for row in dangling}))
                raise UnreadableLogError(f"{name}: {len(dangling)} dangling rows ({tables})")
            return covered_period(log)
    except sqlite3.Error as error:
        raise UnreadableLogError(f"{name}: damaged: {error}") from error


def _audit(source: Path, who: str, path: Path, covered: Covered) -> Action:
    before: object = None
    with suppress(StorageError, sqlite3.Error), closing(open_for_reading(path)) as log:
        before = covered_period(log)._asdict()
    return Action(who, "restore the log", source.name, before, covered._asdict())


@contextmanager
def _nobody_else(path: Path) -> Iterator[None]:
    """Hold the file that is to be replaced, so that nobody else writes it; a damaged one cannot be held."""
    if not path.exists():
        yield
        return
    live: list[Process] = []
    with suppress(StorageError, sqlite3.Error), closing(open_for_reading(path)) as log:
        live = live_processes(log)
    if live:
        raise InUseError(f"{path}: {told(live[0])} writes this log; stop it first")
    with closing(sqlite3.connect(path, isolation_level=None)) as log:
        try:
            log.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
            log.execute("PRAGMA journal_mode = DELETE")  # what stands in the WAL only goes into the file
            log.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if str(error.sqlite_errorname).startswith("SQLITE_BUSY"):
                raise InUseError(f"{path}: another process has the log open; end it first") from error
        except sqlite3.DatabaseError:
            pass  # it is not readable, which may be why another is put in its place
        yield


def _put_aside(path: Path) -> Path | None:
    """The file before under another name, while it keeps its own until it is replaced."""
    if not path.exists():
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    names = (path.with_name(f"{path.name}.{stamp}{number}.before") for number in ("", *(f"-{n}" for n in range(2, 99))))
    aside = next(name for name in names if not name.exists())
    for ending in ("-wal", "-shm"):  # of a file that could not be read
        beside = path.with_name(path.name + ending)
        if beside.exists():
            beside.rename(aside.with_name(aside.name + ending))
    try:
        os.link(path, aside)
    except OSError:
        path.rename(aside)
    return aside


def _closed(part: Path) -> None:
    """One file again, after it was written to."""
    with closing(sqlite3.connect(part, isolation_level=None)) as log:
        log.execute("PRAGMA journal_mode = DELETE")


def _settle(path: Path) -> None:
    """See that a file and its name survive a power cut."""
    for place in (path, path.parent):
        number = os.open(place, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _name(part: Path, target: Path) -> None:
    """Give a finished file its name, which nothing may have yet."""
    try:
        os.link(part, target)  # unlike a renaming it never replaces a file
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        part.rename(target)


def _remove(part: Path) -> None:
    older = (f".v{version}.bak" for version in range(1, SCHEMA_VERSION))
    for ending in ("", "-wal", "-shm", "-journal", *older):
        part.with_name(part.name + ending).unlink(missing_ok=True)
