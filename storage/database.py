"""Opens the one file: for writing (creating and migrating it), or for reading without touching it.

Owns pragmas, versions and the refusal of files that are not ours. Knows no table but the migrations'.
Invariant: a writing connection has WAL, foreign keys on and verified, and the present schema (LOG-02, LOG-04).
"""

import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

from phasewalk.machine.errors import SchemaVersionError, StorageError, UnreadableLogError
from phasewalk.storage.search import prepare

SCHEMA_VERSION = 5
"""The version of the schema that this code writes; `PRAGMA user_version` of the file."""

FIRST_BRIDGED = 3
"""The first version that brought what an older file must be lent to be read; version 2 brought only an index."""

APPLICATION_ID = 0x70687361
"""Marks the file as a phasewalk log (`PRAGMA application_id`)."""

READ_PATIENCE_MS = 5000
"""How long whoever looks waits for a process that locks the file, milliseconds."""

PATIENCE = 15.0
"""How long another process that makes or migrates the file is waited for, seconds."""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """The writing connection of a process; creates the file, or brings an older one up to date after copying it aside.

    Raises `SchemaVersionError` for a newer file, `UnreadableLogError` for what is no phasewalk log, `StorageError`
    when the place cannot be written.
    """
    version = _version_of(path) if path.exists() and path.stat().st_size else 0
    if version < SCHEMA_VERSION:
        if version > 0:
            _copy_aside(path, path.with_name(f"{path.name}.v{version}.bak"))
        _migrate(path)
    connection = _connected(path)
    try:
        _switch_to_wal(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        raise _not_writable(path, error) from error
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -32768")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 0")  # checkpoints run beside the loop, see writer.py
    connection.execute("PRAGMA busy_timeout = 0")  # waiting happens off the loop, see writer.py
    if connection.execute("PRAGMA foreign_keys").fetchone() != (1,):
        connection.close()
        raise StorageError("this SQLite is built without foreign keys; phasewalk needs them")
    prepare(connection)
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, also in a folder that cannot be written (OPS-15); an older file is read as it is.

    Raises `UnreadableLogError` when there is no such file or it is no phasewalk log, `SchemaVersionError` when it
    was written by a newer version.
    """
    if not path.exists():
        raise UnreadableLogError(f"{path}: no such file; a run of 'phasewalk feed' or 'phasewalk turn' makes it")
    version = _version_of(path)
    if version == 0:
        raise UnreadableLogError(f"{path}: empty, no turn was ever written to it; a run of 'phasewalk feed' does")
    connection = _reading(path)
    if 0 < version < SCHEMA_VERSION:
        connection.execute("PRAGMA temp_store = MEMORY")
        for later in range(max(version + 1, FIRST_BRIDGED), SCHEMA_VERSION + 1):
            connection.executescript(Path(__file__).with_name(f"before_{later}.sql").read_text("utf-8"))
    return connection


def _reading(path: Path) -> sqlite3.Connection:
    """A read-only connection. Where no file may be written beside the log, it is read as it lies there.

    What still stands in a WAL then counts too: the log is read from a private copy of both.
    """
    wal = path.with_name(f"{path.name}-wal")
    try:
        return _opened(path, "mode=ro")
    except sqlite3.OperationalError as error:
        code = (error.sqlite_errorcode or 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise UnreadableLogError(f"{path}: locked by another process; try again when it has let go") from error
    except sqlite3.DatabaseError as error:
        raise UnreadableLogError(f"{path}: {error}") from error
    try:
        if wal.is_file() and wal.stat().st_size:
            return _copied(path, wal)
        return _opened(path, "mode=ro&immutable=1")
    except (sqlite3.OperationalError, OSError) as error:
        raise UnreadableLogError(f"{path}: cannot be opened for reading ({error})") from error
    except sqlite3.DatabaseError as error:
        raise UnreadableLogError(f"{path}: {error}") from error


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    """The connection, once it has really read."""
    address = path.absolute().as_uri()
    connection = sqlite3.connect(f"{address}?{mode}", uri=True, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA busy_timeout = {READ_PATIENCE_MS}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _copied(path: Path, wal: Path) -> sqlite3.Connection:
    """A log and its WAL, read from a copy that goes with the connection: open files outlive their names."""
    with tempfile.TemporaryDirectory(prefix="phasewalk-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, copy.with_name(f"{path.name}-wal"))
        return _opened(copy, "mode=ro")


def _version_of(path: Path) -> int:
    """The schema version of an existing file; 0 for a database that holds nothing yet."""
    connection = _reading(path)
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
        tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    except sqlite3.DatabaseError as error:
        raise UnreadableLogError(f"{path}: not a readable SQLite database ({error})") from error
    finally:
        connection.close()
    if tables and mark != APPLICATION_ID:
        raise UnreadableLogError(f"{path}: an SQLite database, but not a phasewalk log")
    if version > SCHEMA_VERSION:
        raise SchemaVersionError(
            f"{path}: written with schema version {version}, this phasewalk reads up to {SCHEMA_VERSION}; "
            "use the newer phasewalk",
        )
    return version


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    except sqlite3.OperationalError as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: sqlite3.OperationalError) -> StorageError:
    return StorageError(f"{path}: cannot be written ({error}); a writable folder is needed")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Make sure of WAL. SQLite itself waits for nobody here, so whoever makes the file just now is waited for."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not str(error.sqlite_errorname).startswith("SQLITE_BUSY") or time.monotonic() >= end:
                raise
            time.sleep(0.01)
        else:
            return


def _copy_aside(path: Path, copy: Path) -> None:
    """A whole copy, with the rows that still stand in the WAL only."""
    source, target = _connected(path), _connected(copy)
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()


def _migrate(path: Path) -> None:
    """Apply what is missing, through the migrations of sqlite-utils (imported only here: it costs 0.1 s)."""
    from phasewalk.storage.migrations import migrate  # noqa: PLC0415 - see the docstring

    connection = _connected(path)
    try:
        connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
        _switch_to_wal(connection)
        migrate(connection)
    except sqlite3.OperationalError as error:
        raise _not_writable(path, error) from error
    finally:
        connection.close()
