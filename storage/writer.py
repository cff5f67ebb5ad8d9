"""The one writing connection of a process: groups what concurrent turns commit, and never holds up the loop.

Owns when a commit happens and where. All that waits at the end of a turn of the event loop becomes one
transaction (LOG-02). Ordinary groups are written on the loop, which takes microseconds; groups that must
survive a power cut, that are large, or that find the file locked go to a thread. Checkpoints run beside it.
Invariants: units commit in the order in which they came; a unit is committed whole or not at all; one that
fails does not take others with it.
"""

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from attrs import define

from phasewalk.machine.deadlines import Commit
from phasewalk.machine.errors import LogWriteError, RowRefusedError, StorageError

LOOP_GROUP = 200
"""Units at most in one group written on the loop, so that it is not blocked for 20 ms."""

CHECKPOINT_UNITS = 500
"""How many units pass before the size of the WAL is looked at."""

CHECKPOINT_BYTES = 8 * 1024 * 1024
"""A WAL larger than this is copied into the file, beside the writing."""

TRUNCATE_BYTES = 64 * 1024 * 1024
"""A WAL larger than this is emptied while writing waits: beside steady writing it would never start over."""

Work = Callable[[sqlite3.Connection], object]
"""What a unit does inside the transaction; a `StorageError` that it raises before its first change fails it alone."""


class Promise(Protocol):
    """What a unit's outcome is told to: an asyncio future of any kind."""

    def done(self) -> bool:
        """Whether somebody has answered already."""

    def set_result(self, result: object, /) -> None:
        """It is committed; `result` is what the work returned."""

    def set_exception(self, exception: BaseException, /) -> None:
        """It is not."""


@define
class Unit:
    """One all-or-nothing piece of work and who waits for it; `owner` names whose it is, where that is one turn."""

    work: Work
    promise: Promise
    durable: bool = False
    heavy: bool = False
    owner: str = ""


class Writer:
    """Serialises all writing of this process; see the module docstring.

    `patience` is how long, in seconds, a busy or full database is retried before `LogWriteError` (LOG-03).
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, *, patience: float = 15.0) -> None:
        self._connection = connection
        self._path = path
        self._patience = patience
        self._waiting: deque[Unit] = deque()
        self._scheduled = False
        self._thread_busy = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="phasewalk-log")
        self._wal_path = path.with_name(path.name + "-wal")
        self._since_checkpoint = 0
        self._checkpointing: asyncio.Future[None] | None = None
        self._closed = threading.Event()
        self._last_owner = ""
        self.groups = 0
        """How many transactions have been committed; for benchmarks."""

    def submit(self, unit: Unit) -> None:
        """Take a unit; its promise is answered when it is committed, or will not be."""
        if self._closed.is_set():
            unit.promise.set_exception(LogWriteError("the log is closed"))
            return
        self._waiting.append(unit)
        alone = unit.owner != "" and unit.owner == self._last_owner
        self._last_owner = unit.owner
        if alone and not self._scheduled and not self._thread_busy:
            self._flush()  # nobody else has written lately: waiting for company would only cost time
        else:
            self._schedule()

    async def call(self, work: Work, *, durable: bool = False) -> object:
        """Commit `work` and return what it returned."""
        commit = Commit()
        self.submit(Unit(work, commit, durable))
        return await commit

    async def close(self) -> None:
        """Write what waits, then let go of the connection."""
        last = Commit()
        self.submit(Unit(lambda _connection: None, last))
        self._closed.set()
        with suppress(LogWriteError):
            await last
        if self._checkpointing is not None:
            await asyncio.wait({self._checkpointing})
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        with suppress(sqlite3.Error):  # a checkpoint that fails here costs nothing: the rows are safe in the WAL
            self._connection.execute("PRAGMA busy_timeout = 1000")
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._connection.close()

    def _schedule(self) -> None:
        if not self._scheduled and not self._thread_busy:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        """Write what has gathered: here when that is quick, else in the thread."""
        self._scheduled = False
        if self._thread_busy or not self._waiting:
            return
        group = self._next_group()
        if not any([unit.durable or unit.heavy for unit in group]):  # noqa: C419 - a list is faster than a generator
            with suppress(sqlite3.OperationalError):  # what may pass: the thread has the patience
                answers = self._transaction(group)
                _answer(group, answers)
                group = group[len(answers) :]
                if not group:
                    self._after(len(answers))
                    return
        self._thread_busy = True
        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._thread, self._commit_patiently, group).add_done_callback(
            lambda done: self._written(group, done),
        )

    def _next_group(self) -> list[Unit]:
        if len(self._waiting) <= LOOP_GROUP:
            group = list(self._waiting)
            self._waiting.clear()
            return group
        return [self._waiting.popleft() for _ in range(LOOP_GROUP)]

    def _written(self, group: list[Unit], done: "asyncio.Future[list[object]]") -> None:
        """The thread has answered."""
        self._thread_busy = False
        error = done.exception()
        _answer(group, done.result() if error is None else [_refusal(error) for _ in group])
        self._after(len(group))

    def _after(self, units: int) -> None:
        self._since_checkpoint += units
        if self._since_checkpoint >= CHECKPOINT_UNITS and self._checkpointing is None:
            self._since_checkpoint = 0
            self._begin_checkpoint()
        if self._waiting:
            self._schedule()

    def _commit_patiently(self, group: list[Unit]) -> list[object]:
        """In the thread: wait for locks, retry what may pass, up to the patience."""
        end = time.monotonic() + self._patience
        pause = 0.01
        answers: list[object] = []
        while len(answers) < len(group):
            self._connection.execute("PRAGMA busy_timeout = 200")
            try:
                answers += self._commit(group[len(answers) :])
            except sqlite3.OperationalError as error:
                if time.monotonic() >= end:
                    return [*answers, *(_refusal(error) for _ in group[len(answers) :])]
                time.sleep(pause)
                pause = min(pause * 2, 0.25)
            finally:
                self._connection.execute("PRAGMA busy_timeout = 0")
        return answers

    def _commit(self, group: list[Unit]) -> list[object]:
        """One transaction for the group; each unit's answer is its result, or its own error."""
        durable = any(unit.durable for unit in group)
        if durable:
            self._connection.execute("PRAGMA synchronous = FULL")
        try:
            return self._transaction(group)
        finally:
            if durable:
                self._connection.execute("PRAGMA synchronous = NORMAL")

    def _transaction(self, group: list[Unit]) -> list[object]:
        """The answers of the units that are settled, from the first on; raises what may pass when none is."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            answers = [_done_in(connection, unit) for unit in group]
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if _passing(error) or not isinstance(error, Exception):
                raise
            if len(group) == 1:
                return [RowRefusedError(f"the log refused a row: {error}")]
            return self._one_by_one(group)
        self.groups += 1
        return answers

    def _one_by_one(self, group: list[Unit]) -> list[object]:
        """Each unit in a transaction of its own, up to where the file becomes busy: none is written twice."""
        answers: list[object] = []
        for unit in group:
            try:
                answers += self._transaction([unit])
            except sqlite3.OperationalError:
                if not answers:
                    raise
                break
        return answers

    def _begin_checkpoint(self) -> None:
        loop = asyncio.get_running_loop()
        size = self._wal_path.stat().st_size if self._wal_path.exists() else 0
        if size < CHECKPOINT_BYTES:
            return
        large = size > TRUNCATE_BYTES
        if large:
            self._thread_busy = True
            job = loop.run_in_executor(self._thread, self._truncate)
        else:
            job = loop.run_in_executor(None, self._checkpoint)
        self._checkpointing = job
        job.add_done_callback(lambda done: self._checkpointed(done, large=large))

    def _checkpointed(self, done: "asyncio.Future[None]", *, large: bool) -> None:
        self._checkpointing = None
        done.exception()  # a checkpoint that failed is tried again later; the rows are safe in the WAL
        if large:
            self._thread_busy = False
            if self._waiting:
                self._schedule()

    def _checkpoint(self) -> None:
        """Beside the writer, on a connection of its own."""
        beside = sqlite3.connect(self._path, isolation_level=None)
        try:
            beside.execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            beside.close()

    def _truncate(self) -> None:
        self._connection.execute("PRAGMA busy_timeout = 200")
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._connection.execute("PRAGMA busy_timeout = 0")


def _done_in(connection: sqlite3.Connection, unit: Unit) -> object:
    """The unit's result; a refusal of its own is its answer and changes nothing."""
    try:
        return unit.work(connection)
    except StorageError as refusal:
        return refusal


def _answer(group: list[Unit], answers: list[object]) -> None:
    for unit, answer in zip(group, answers, strict=False):  # units beyond the answers are still to be written
        if unit.promise.done():
            continue
        if isinstance(answer, BaseException):
            unit.promise.set_exception(answer)
        else:
            unit.promise.set_result(answer)


def _refusal(error: BaseException) -> LogWriteError:
    return LogWriteError(f"the log could not be written: {error}")


_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_PROTOCOL")


def _passing(error: BaseException) -> bool:
    """Whether waiting may help: somebody else's lock, a full disk, a hiccup of it."""
    return isinstance(error, sqlite3.OperationalError) and str(getattr(error, "sqlite_errorname", "")).startswith(
        _PASSING
    )
