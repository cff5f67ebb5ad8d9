"""A log in memory with the real tables, for a turn that is walked again: written by the same code, read by the same.

Owns the database in memory and the writer that needs no thread. Invariants: nothing of it ever reaches a file; once
it is closed, the turn that writes has lost its lease, and its walk ends without another row.
"""

import sqlite3

from phasewalk.machine.deadlines import Clock
from phasewalk.machine.errors import LeaseLostError, RowRefusedError, StorageError
from phasewalk.storage.migrations import migrate
from phasewalk.storage.phase_log import SqlitePhaseLog
from phasewalk.storage.redacting import Redact
from phasewalk.storage.writer import Unit, Work


class ScratchLog:
    """Implements `Writing` on a database in memory; one turn at a time, `begin` forgets the one before."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        migrate(self.connection)
        self.closed = ""

    def begin(self, clock: Clock, redact: Redact) -> SqlitePhaseLog:
        """An empty log."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.connection.execute("BEGIN")
        self.closed = ""
        return SqlitePhaseLog(self, self.connection, clock, redact)

    def close(self, why: str) -> None:
        """Take no further row."""
        self.closed = self.closed or why

    def submit(self, unit: Unit) -> None:
        """Write at once."""
        if self.closed:
            unit.promise.set_exception(LeaseLostError(self.closed))
            return
        self.connection.execute("SAVEPOINT unit")
        try:
            result = unit.work(self.connection)
        except StorageError as refusal:
            self.connection.execute("ROLLBACK TO unit")
            unit.promise.set_exception(refusal)
        except sqlite3.Error as error:
            self.connection.execute("ROLLBACK TO unit")
            unit.promise.set_exception(RowRefusedError(f"the log refused a row: {error}"))
        else:
            unit.promise.set_result(result)
        self.connection.execute("RELEASE unit")

    async def call(self, work: Work, *, durable: bool = False) -> object:  # noqa: ARG002 - nothing here is durable
        """Write at once, and return what the work returned."""
        return work(self.connection)
