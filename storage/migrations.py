"""The numbered steps from an empty file to the present schema (LOG-04).

Owns the order of migrations. A released migration is never changed; a new one is added behind it and
`SCHEMA_VERSION` counts up.
"""

import sqlite3
from collections.abc import Iterator
from importlib.resources import files

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from phasewalk.machine.reasons import Reason
from phasewalk.storage.database import APPLICATION_ID, SCHEMA_VERSION
from phasewalk.storage.search import prepare

_migrations = Migrations("phasewalk")


@_migrations(name="0001_the_log")
def _the_log(db: Database) -> None:
    _run(db, "schema.sql")
    _run(db, "views.sql")


@_migrations(name="0002_full_text")
def _full_text(db: Database) -> None:
    _run(db, "search.sql")


@_migrations(name="0003_ignored_by_hour")
def _ignored_by_hour(db: Database) -> None:
    _run(db, "version_3.sql")


@_migrations(name="0004_live")
def _live(db: Database) -> None:
    _run(db, "version_4.sql")


@_migrations(name="0005_jobs")
def _jobs(db: Database) -> None:
    _run(db, "version_5.sql")


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file of `connection` to the present schema, whole or not at all; of two processes one waits."""
    prepare(connection)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        _migrations.apply(Database(connection))
        fill_reasons(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def fill_reasons(connection: sqlite3.Connection) -> None:
    """Mirror the closed list of reasons into the table `reason`."""
    connection.executemany(
        "INSERT INTO reason (code, severity, meaning) VALUES (?, ?, ?)"
        " ON CONFLICT (code) DO UPDATE SET severity = excluded.severity, meaning = excluded.meaning",
        [(str(reason), reason.severity, reason.meaning) for reason in Reason],
    )


def _run(db: Database, script: str) -> None:
    for statement in _statements(files("phasewalk.storage").joinpath(script).read_text("utf-8")):
        db.conn.execute(statement)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one, so that they share one transaction."""
    waiting = ""
    for line in script.splitlines(keepends=True):
        waiting += line
        if sqlite3.complete_statement(waiting):
            yield waiting
            waiting = ""
