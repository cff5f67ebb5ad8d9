"""The phase log over SQLite: claims triggers, writes the rows of a walk under its lease, knows its process.

Owns the fencing of writes (TURN-13) and the process row. Invariant: a unit of a turn whose token is no longer
the turn's writes nothing.
"""

import asyncio
import os
import socket
import sqlite3
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from phasewalk.machine.deadlines import Clock, Commit
from phasewalk.machine.documents import Payload, json_of, payload_of
from phasewalk.machine.errors import LeaseLostError, LogWriteError, StorageError
from phasewalk.machine.records import (
    EffectIntended,
    HistoryTrimmed,
    PhaseEntered,
    PhaseExited,
    Record,
    TurnEnded,
    TurnMoved,
    TurnOpened,
)
from phasewalk.machine.redaction import Redactor
from phasewalk.machine.table import Table
from phasewalk.storage.health import HOUR_US
from phasewalk.storage.history import trim_window
from phasewalk.storage.process import started_mark
from phasewalk.storage.redacting import Redact, without_secrets
from phasewalk.storage.statements import ROWS, Statement, claimed, ended, execute_all, moved, opened, payload_row
from phasewalk.storage.writer import Unit, Work

LEASE = 300.0
"""Seconds for which a turn is held without a sign of life, unless the operator says otherwise (TURN-13)."""

HEAVY_CHARS = 65_536
KNOWN_PAYLOADS = 4096


_WITH_PAYLOADS = (PhaseEntered, PhaseExited, EffectIntended)
_Rows = tuple[Statement | None, list[Statement], HistoryTrimmed | None]


class Writing(Protocol):
    """What the phase log writes through."""

    def submit(self, unit: Unit) -> None:
        """Take a unit; its promise is answered when it is committed, or will not be."""

    async def call(self, work: Work, *, durable: bool = False) -> object:
        """Commit `work` and return what it returned."""


class KnownTriggerError(StorageError):
    """The trigger has a turn already; used inside this file only."""


class SqlitePhaseLog:
    """The log as the runner sees it; `start` must have been called."""

    def __init__(
        self,
        writer: Writing,
        reader: sqlite3.Connection,
        clock: Clock,
        redact: Redact | None = None,
        lease: float = LEASE,
    ) -> None:
        """`redact` takes secrets out of every text before it is written; by default what looks like one.

        `lease` is how many seconds a turn is held for without a sign of life.
        """
        self._redact = redact or Redactor()
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._process_id = 0
        self._lease_us = int(lease * 1_000_000)
        self._stored: OrderedDict[str, None] = OrderedDict()
        self._anew = 0

    @property
    def process_id(self) -> int:
        """The row of this process."""
        return self._process_id

    async def start(
        self, tables: Iterable[Table], command: str, version: str, configuration: Mapping[str, object] | None = None
    ) -> None:
        """Write down that this process begins, the machines that it runs, and by which configuration (no secrets)."""
        now = self._clock.now_us()
        machines = [(t.digest, t.name, json_of(t.as_document()), now) for t in tables]
        settings = payload_of(self._redact(json_of(configuration or {})))
        own = (socket.gethostname(), os.getpid(), started_mark(os.getpid()))

        def work(connection: sqlite3.Connection) -> int:
            connection.executemany(
                "INSERT OR IGNORE INTO machine (hash, name, body, first_seen_us) VALUES (?, ?, ?, ?)",
                machines,
            )
            connection.execute(
                "INSERT OR IGNORE INTO configuration (hash, body, first_seen_us) VALUES (?, ?, ?)",
                (settings.digest, settings.text, now),
            )
            cursor = connection.execute(
                "INSERT INTO process (host, pid, pid_started, command, version, started_us, heartbeat_us,"
                " configuration_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*own, command, version, now, now, settings.digest),
            )
            return cursor.lastrowid or 0

        number = await self._writer.call(work)
        self._process_id = int(str(number))

    @asynccontextmanager
    async def storing_anew(self) -> AsyncIterator[None]:
        """Within this block every text is stored with each reference to it: somebody is erasing texts (LOG-11)."""
        self._anew += 1
        self._stored.clear()
        try:
            await self._writer.call(lambda _connection: None)  # whatever passed over a text before is committed by now
            yield
        finally:
            self._anew -= 1

    async def heartbeat(self) -> None:
        """Say that this process lives, and keep the leases of its turns."""
        now = self._clock.now_us()

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE process SET heartbeat_us = ? WHERE process_id = ?", (now, self._process_id))
            connection.execute(
                "UPDATE turn SET lease_until_us = ? WHERE ended_us IS NULL AND process_id = ?",
                (now + self._lease_us, self._process_id),
            )

        await self._writer.call(work)

    async def end(self, why: str) -> None:
        """Write down that this process ends in order."""
        now = self._clock.now_us()
        row = (now, why, now, self._process_id)
        await self._writer.call(
            lambda connection: connection.execute(
                "UPDATE process SET ended_us = ?, end_reason = ?, heartbeat_us = ? WHERE process_id = ?",
                row,
            ),
        )

    async def open(self, opened_record: TurnOpened, token: str, *records: Record) -> "SqliteTurnLog | None":
        """Claim the trigger with its first rows; None when it has a turn already (TURN-10)."""
        turn_log = SqliteTurnLog(self, opened_record.turn_id, token)
        clean = without_secrets(opened_record, self._redact)
        opened_record = clean if isinstance(clean, TurnOpened) else opened_record
        claim = opened(opened_record, "received", self._process_id, token, self._lease_us)
        _, statements, _ = self._rows(opened_record.turn_id, token, records)
        self._payload_rows(statements, [opened_record.text])
        commit = Commit()

        def work(connection: sqlite3.Connection) -> None:
            if connection.execute(*claim).rowcount != 1:
                raise KnownTriggerError(opened_record.trigger_key)
            execute_all(connection, statements)

        self._submit(work, commit, statements, owner=opened_record.turn_id)
        try:
            await commit
        except KnownTriggerError:
            return None
        except asyncio.CancelledError:
            if commit.exception() is not None:
                raise  # nothing was claimed
            _cancel_again()
        return turn_log

    async def find(self, trigger_key: str) -> str | None:
        """The turn that holds this trigger."""
        row = self._reader.execute("SELECT turn_id FROM turn WHERE trigger_key = ?", (trigger_key,)).fetchone()
        return None if row is None else str(row[0])

    async def claim(self, turn_id: str, held: str, token: str, until_us: int) -> "SqliteTurnLog | None":
        """Take over a turn under the token `held`; see `PhaseLog.claim`."""
        until = (self._clock.now_us() + self._lease_us, until_us)
        claim = claimed(turn_id, held, token, self._process_id, until)
        taken = await self._writer.call(lambda connection: connection.execute(*claim).rowcount)
        return SqliteTurnLog(self, turn_id, token) if taken == 1 else None

    def knows(self, turn_id: str) -> bool:
        """Whether the log holds this turn."""
        return self._reader.execute("SELECT 1 FROM turn WHERE turn_id = ?", (turn_id,)).fetchone() is not None

    async def count_ignored(self, channel_id: str, reason: str) -> None:
        """Count a message that opens no turn, so that "everything is ignored" can be seen."""
        now_us = self._clock.now_us()
        row = (self._process_id, channel_id, reason, now_us - now_us % HOUR_US, now_us)
        await self._writer.call(
            lambda connection: connection.execute(
                "INSERT INTO ignored_message (process_id, channel_id, reason, hour_us, count, last_us)"
                " VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET count = count + 1, last_us = excluded.last_us",
                row,
            ),
        )

    def write(self, turn_id: str, token: str, records: tuple[Record, ...], *, durable: bool) -> Commit:
        """Commit the records of one turn under its token."""
        commit = Commit()
        guard, statements, trim = self._rows(turn_id, token, records)

        def work(connection: sqlite3.Connection) -> None:
            execute = connection.execute
            if guard is not None:
                holds = execute(*guard).rowcount == 1
            else:
                holds = execute(_HOLDS, (turn_id, token)).fetchone() is not None
            if not holds:
                raise LeaseLostError(f"turn {turn_id} belongs to another process or has ended")
            execute_all(connection, statements)
            if trim is not None:
                trim_window(connection, trim)

        self._submit(work, commit, statements, owner=turn_id, durable=durable)
        return commit

    def _submit(
        self,
        work: Work,
        commit: Commit,
        statements: list[Statement],
        *,
        owner: str,
        durable: bool = False,
    ) -> None:
        """Hand a unit to the writer, and remember the payloads that it stores once it is committed."""
        stored = [values[0] for _, values in statements if isinstance(values[0], Payload)]
        heavy = False
        if stored:
            commit.add_done_callback(lambda done: self._remember(stored) if done.exception() is None else None)
            heavy = sum(len(payload.text) for payload in stored) > HEAVY_CHARS
        self._writer.submit(Unit(work, commit, durable, heavy, owner))

    def _remember(self, payloads: list[Payload]) -> None:
        if self._anew:
            return
        for payload in payloads:
            self._stored[payload.digest] = None
        while len(self._stored) > KNOWN_PAYLOADS:
            self._stored.popitem(last=False)

    def write_afterwards(self, turn_id: str, records: tuple[Record, ...]) -> Commit:
        """Commit what became known after the turn had ended; changes nothing of its end."""
        commit = Commit()
        _, statements, _ = self._rows(turn_id, "", records)

        def work(connection: sqlite3.Connection) -> None:
            execute_all(connection, statements)

        self._submit(work, commit, statements, owner=turn_id)
        return commit

    def count_loss(self, turn_id: str, rows: int, what: str) -> None:
        """Write down that descriptive rows are missing, as soon as writing works again (LOG-03)."""
        row = (self._clock.now_us(), turn_id, rows, what)

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT INTO log_loss (at_us, turn_id, rows, what) VALUES (?, ?, ?, ?)", row)
            connection.execute("UPDATE turn SET log_gap = log_gap + ? WHERE turn_id = ?", (rows, turn_id))

        commit = Commit()
        self._writer.submit(Unit(work, commit))

    def _rows(self, turn_id: str, token: str, records: Iterable[Record]) -> _Rows:
        """The rows of `records`; apart from them the summary that must change exactly one row, and the trimming."""
        guard: Statement | None = None
        trim: HistoryTrimmed | None = None
        rows: list[Statement] = []
        for given in records:
            record = without_secrets(given, self._redact)
            if isinstance(record, TurnMoved):
                guard = moved(turn_id, token, record)
            elif isinstance(record, TurnEnded):
                guard = ended(turn_id, token, record)
            elif isinstance(record, HistoryTrimmed):
                trim = record
            else:
                if isinstance(record, _WITH_PAYLOADS) and record.payloads:
                    self._payload_rows(rows, record.payloads)
                ROWS[type(record)](rows, turn_id, record)
        return guard, rows, trim

    def _payload_rows(self, rows: list[Statement], payloads: Iterable[Payload]) -> None:
        """Add the rows of payloads; those stored lately are passed over without compressing them again."""
        for payload in payloads:
            if payload.digest in self._stored:
                self._stored.move_to_end(payload.digest)
            else:
                rows.append(payload_row(payload))


def _cancel_again() -> None:
    """Let the cancellation strike where the task waits next: there its claim can be walked to an end."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
        task.cancel()


_HOLDS = "SELECT 1 FROM turn WHERE turn_id = ? AND lease_token = ? AND ended_us IS NULL"


class SqliteTurnLog:
    """The log of one turn, under its lease."""

    def __init__(self, log: SqlitePhaseLog, turn_id: str, token: str) -> None:
        self._log = log
        self._turn_id = turn_id
        self._token = token

    def write(self, *records: Record, durable: bool = False) -> Commit:
        """Commit together; see `TurnLog.write`."""
        return self._log.write(self._turn_id, self._token, records, durable=durable)

    async def describe(self, *records: Record) -> None:
        """Commit rows that only describe; what cannot be written is counted (LOG-03)."""
        try:
            await self.write(*records)
        except LogWriteError as error:
            self._log.count_loss(self._turn_id, len(records), str(error))

    async def afterwards(self, *records: Record) -> None:
        """Commit what became known too late to matter; see `TurnLog.afterwards`."""
        try:
            await self._log.write_afterwards(self._turn_id, records)
        except LogWriteError as error:
            self._log.count_loss(self._turn_id, len(records), str(error))
