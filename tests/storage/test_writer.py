"""The one writing connection: groups, order, units that fail alone, locks, full disks, readers beside it."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Self

import pytest

from phasewalk.machine.errors import LeaseLostError, LogWriteError, RowRefusedError
from phasewalk.storage import writer as writer_module
from phasewalk.storage.writer import Unit, Writer

HOLD_LOCK = """
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(float(sys.argv[2]))
c.execute("COMMIT")
"""


class Bench:
    """A writer over a file with one table, and a way to insert."""

    def __init__(self, path: Path, patience: float = 15.0) -> None:
        self.path = path
        self.connection = connected(path)
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS item (number INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL)"
        )
        self.writer = Writer(self.connection, path, patience=patience)

    def insert(self, name: str | None) -> Callable[[sqlite3.Connection], object]:
        return lambda c: c.execute("INSERT INTO item (name) VALUES (?)", (name,)).lastrowid

    async def put(self, name: str | None, *, durable: bool = False) -> object:
        return await self.writer.call(self.insert(name), durable=durable)

    def names(self) -> list[str]:
        with_reader = sqlite3.connect(self.path)
        try:
            return [name for (name,) in with_reader.execute("SELECT name FROM item ORDER BY number")]
        finally:
            with_reader.close()


def connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA busy_timeout = 0")
    return connection


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path / "items.db")
    yield made
    await made.writer.close()


@pytest.fixture
async def impatient(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path / "items.db", patience=0.1)
    yield made
    await made.writer.close()


class Ticks:
    """Measures the longest time for which the event loop answered nobody, in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.ensure_future(self._tick())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _tick(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.001)
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now


@pytest.mark.spec("LOG-02")
async def test_what_concurrent_turns_commit_is_grouped(bench: Bench):
    before = bench.writer.groups
    await asyncio.gather(*(bench.put(f"item {n}") for n in range(100)))
    assert len(bench.names()) == 100
    assert bench.writer.groups - before <= 3


@pytest.mark.spec("LOG-02")
async def test_who_writes_alone_is_not_kept_waiting(bench: Bench):
    first, second, other = (asyncio.get_running_loop().create_future() for _ in range(3))
    bench.writer.submit(Unit(bench.insert("first"), first, owner="turn"))
    await first
    bench.writer.submit(Unit(bench.insert("second"), second, owner="turn"))
    assert second.done()
    bench.writer.submit(Unit(bench.insert("third"), other, owner="another turn"))
    assert not other.done()
    await other
    assert bench.names() == ["first", "second", "third"]


@pytest.mark.spec("LOG-02")
async def test_a_call_returns_what_the_work_returned(bench: Bench):
    assert [await bench.put("a"), await bench.put("b")] == [1, 2]


@pytest.mark.spec("LOG-02")
async def test_a_unit_that_the_database_refuses_fails_alone(bench: Bench):
    found = await asyncio.gather(
        bench.put("a"), bench.put("b"), bench.put("a"), bench.put(None), bench.put("c"), return_exceptions=True
    )
    assert [type(answer).__name__ for answer in found] == ["int", "int", "RowRefusedError", "RowRefusedError", "int"]
    assert str(found[2]) == "the log refused a row: UNIQUE constraint failed: item.name"
    assert bench.names() == ["a", "b", "c"]


@pytest.mark.spec("LOG-02")
@pytest.mark.parametrize("fault", [KeyError("a bug"), sqlite3.OperationalError("no such table: items")])
async def test_a_unit_with_a_fault_fails_alone(bench: Bench, fault: Exception):
    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO item (name) VALUES ('half')")
        raise fault

    found = await asyncio.gather(bench.put("a"), bench.writer.call(broken), bench.put("b"), return_exceptions=True)
    assert isinstance(found[1], LogWriteError)
    assert bench.names() == ["a", "b"]


@pytest.mark.spec("TURN-13")
async def test_a_unit_that_refuses_itself_gets_its_own_error_and_costs_the_others_nothing(bench: Bench):
    def lost(_connection: sqlite3.Connection) -> None:
        raise LeaseLostError("taken over")

    before = bench.writer.groups
    found = await asyncio.gather(bench.put("a"), bench.writer.call(lost), bench.put("b"), return_exceptions=True)
    assert isinstance(found[1], LeaseLostError)
    assert bench.names() == ["a", "b"]
    assert bench.writer.groups - before <= 2


def spoiler(
    other: sqlite3.Connection, tries: list[int], seconds: float | None = None
) -> Callable[[sqlite3.Connection], object]:
    """A unit that fails; when it is tried alone, somebody else has the lock from then on, for so long or for ever."""

    def spoil(connection: sqlite3.Connection) -> None:
        tries.append(1)
        if len(tries) == 2:
            connection.execute("ROLLBACK")
            other.execute("BEGIN IMMEDIATE")
            if seconds is not None:
                threading.Timer(seconds, other.close).start()
        raise ValueError("refused")

    return spoil


@pytest.mark.spec("LOG-02", "LOG-03")
@pytest.mark.parametrize("durable", [False, True])
async def test_when_a_group_falls_apart_and_the_file_becomes_busy_no_unit_is_written_twice(bench: Bench, durable: bool):
    tries: list[int] = []
    spoil = spoiler(connected(bench.path), tries, seconds=0.5)
    found = await asyncio.gather(
        bench.put("a", durable=durable), bench.writer.call(spoil), bench.put("b"), return_exceptions=True
    )
    assert (found[0], type(found[1]), found[2]) == (1, RowRefusedError, 2)
    assert bench.names() == ["a", "b"]
    assert len(tries) == 2


@pytest.mark.spec("LOG-03")
async def test_when_a_group_falls_apart_what_is_committed_stays_answered_and_the_rest_is_refused(impatient: Bench):
    other = connected(impatient.path)
    found = await asyncio.gather(
        impatient.put("a", durable=True),
        impatient.writer.call(spoiler(other, [])),
        impatient.put("b"),
        return_exceptions=True,
    )
    other.close()
    assert (found[0], type(found[1]), type(found[2])) == (1, RowRefusedError, LogWriteError)
    assert str(found[2]) == "the log could not be written: database is locked"
    assert impatient.names() == ["a"]


@pytest.mark.spec("LOG-01", "LOG-02")
async def test_units_commit_in_the_order_in_which_they_came(bench: Bench):
    loop = asyncio.get_running_loop()
    promises = []
    for n in range(500):
        promise = loop.create_future()
        promises.append(promise)
        bench.writer.submit(Unit(bench.insert(f"{n:03}"), promise, durable=n % 7 == 0, heavy=n % 11 == 0))
    numbers = await asyncio.gather(*promises)
    assert numbers == list(range(1, 501))
    assert bench.names() == [f"{n:03}" for n in range(500)]


@pytest.mark.spec("LOG-02")
async def test_an_intent_is_committed_so_that_it_survives_a_power_cut(bench: Bench):
    def synchronous(connection: sqlite3.Connection) -> tuple[int, bool]:
        level = connection.execute("PRAGMA synchronous").fetchone()[0]
        return level, connection.in_transaction

    full, normal = (2, True), (1, True)
    assert await bench.writer.call(synchronous, durable=True) == full
    assert await bench.writer.call(synchronous) == normal
    assert await asyncio.gather(
        bench.writer.call(synchronous), bench.writer.call(synchronous, durable=True), bench.writer.call(synchronous)
    ) == [full, full, full]


@pytest.mark.spec("LOG-02", "LOG-03")
async def test_while_another_process_holds_the_lock_for_three_seconds_the_loop_goes_on(bench: Bench):
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD_LOCK, str(bench.path), "3", stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"locked\n"
    began = time.monotonic()
    async with Ticks() as ticks:
        await asyncio.gather(*(bench.put(f"turn {n}") for n in range(10)))
    waited = time.monotonic() - began
    assert await holder.wait() == 0
    assert len(bench.names()) == 10
    assert waited > 2.0
    assert ticks.longest < 0.2, f"the loop was blocked for {ticks.longest * 1000:.0f} ms"


@pytest.mark.spec("LOG-03")
async def test_a_lock_that_outlasts_the_patience_is_a_clear_error(impatient: Bench):
    other = connected(impatient.path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LogWriteError, match="the log could not be written: database is locked"):
        await impatient.put("never")
    other.close()
    assert await impatient.put("later") == 1


@pytest.mark.spec("LOG-03")
async def test_a_full_disk_is_a_clear_error_and_is_over_when_it_is_over(impatient: Bench):
    pages = impatient.connection.execute("PRAGMA page_count").fetchone()[0]
    impatient.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LogWriteError, match="the log could not be written: database or disk is full"):
        await impatient.put("x" * 100_000)
    impatient.connection.execute("PRAGMA max_page_count = 1000000")
    await impatient.put("y" * 100_000)
    assert [len(name) for name in impatient.names()] == [100_000]


@pytest.mark.spec("LOG-03")
async def test_a_file_that_cannot_be_written_is_refused_at_once(bench: Bench):
    await bench.put("a")
    connection = sqlite3.connect(
        f"{bench.path.as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    reading = Writer(connection, bench.path, patience=1000.0)
    with pytest.raises(LogWriteError, match="the log refused a row: attempt to write a readonly database"):
        await asyncio.wait_for(reading.call(bench.insert("b")), 10.0)
    await reading.close()
    assert bench.names() == ["a"]


@pytest.mark.spec("LOG-14")
async def test_a_paused_reader_delays_no_write(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer_module, "CHECKPOINT_UNITS", 20)
    monkeypatch.setattr(writer_module, "CHECKPOINT_BYTES", 0)
    await bench.put("before")
    reader = connected(bench.path)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM item").fetchone() == (1,)
    async with Ticks() as ticks:
        for n in range(300):
            await asyncio.wait_for(bench.put(f"item {n}", durable=n % 50 == 0), 10.0)
    assert reader.execute("SELECT count(*) FROM item").fetchone() == (1,)
    reader.close()
    assert len(bench.names()) == 301
    assert ticks.longest < 0.2, f"the loop was blocked for {ticks.longest * 1000:.0f} ms"


@pytest.mark.spec("LOG-14")
async def test_a_running_backup_delays_no_write(bench: Bench, tmp_path: Path):
    await asyncio.gather(*(bench.put(f"{n}" * 2000) for n in range(200)))
    source, target = connected(bench.path), sqlite3.connect(tmp_path / "copy.db", check_same_thread=False)
    step = threading.Semaphore(0)

    def paced(*_progress: int) -> None:
        step.acquire()

    copying = asyncio.ensure_future(asyncio.to_thread(source.backup, target, pages=4, progress=paced))
    for n in range(100):
        await asyncio.wait_for(bench.put(f"meanwhile {n}"), 10.0)
        step.release()
    step.release(1_000_000)
    await copying
    source.close()
    assert target.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    target.close()
    assert len(bench.names()) == 300


@pytest.mark.spec("LOG-14")
async def test_a_large_wal_is_copied_into_the_file_beside_the_writing(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer_module, "CHECKPOINT_UNITS", 10)
    monkeypatch.setattr(writer_module, "CHECKPOINT_BYTES", 50_000)
    await asyncio.gather(*(bench.put(f"{n}" * 1000) for n in range(100)))
    await bench.put("one more")
    checkpoint = bench.writer._checkpointing
    if checkpoint is not None:  # it may be over already
        await checkpoint
    assert bench.path.stat().st_size >= 100_000


@pytest.mark.spec("LOG-14")
async def test_a_very_large_wal_is_emptied_and_what_waits_is_written_then(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer_module, "CHECKPOINT_UNITS", 50)
    monkeypatch.setattr(writer_module, "CHECKPOINT_BYTES", 10_000)
    monkeypatch.setattr(writer_module, "TRUNCATE_BYTES", 20_000)
    wal = bench.path.with_name("items.db-wal")
    await asyncio.gather(*(bench.put(f"{n}" * 1000) for n in range(50)))
    assert await asyncio.wait_for(bench.put("waited"), 10.0) == 51
    assert wal.stat().st_size < 20_000


@pytest.mark.spec("LOG-02")
async def test_closing_writes_what_waits_and_refuses_what_comes_later(tmp_path: Path):
    bench = Bench(tmp_path / "items.db")
    loop = asyncio.get_running_loop()
    promises = [loop.create_future() for _ in range(300)]
    for n, promise in enumerate(promises):
        bench.writer.submit(Unit(bench.insert(f"{n:03}"), promise, durable=n % 2 == 0))
    await bench.writer.close()
    assert all(promise.done() for promise in promises)
    assert len(bench.names()) == 300
    with pytest.raises(LogWriteError, match="the log is closed"):
        await bench.put("late")


@pytest.mark.spec("LOG-02")
async def test_who_stops_waiting_does_not_stop_the_commit(bench: Bench):
    task = asyncio.ensure_future(bench.put("a", durable=True))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert await bench.put("b") == 2
    assert bench.names() == ["a", "b"]


async def test_a_promise_that_somebody_else_has_answered_is_left_alone(bench: Bench):
    promise: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    bench.writer.submit(Unit(bench.insert("a"), promise, durable=True))
    promise.set_result("answered")
    assert await bench.put("b") == 2
    assert promise.result() == "answered"


@pytest.mark.spec("LOG-03")
async def test_a_connection_that_fails_in_the_thread_is_a_clear_error(tmp_path: Path):
    bench = Bench(tmp_path / "items.db")
    bench.connection.close()
    with pytest.raises(LogWriteError, match="closed database"):
        await bench.put("a", durable=True)
    bench.writer._thread.shutdown()
