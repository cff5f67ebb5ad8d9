"""BAR-01: turns per second of the machine with its log, against the same rows written by hand.

The hand-written writer is the limit: it gets the very statements and parameters that a run of ours produced,
grouped into the very same transactions, and only executes them: x1 with the same `synchronous`, x100 with
`synchronous=FULL`. Rounds are interleaved; medians and ratios are printed as a Markdown table.

    python bench/log_writer.py [ROUNDS]
"""

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

import workload

from phasewalk.machine.deadlines import SystemClock
from phasewalk.storage.database import open_for_reading, open_for_writing
from phasewalk.storage.phase_log import SqlitePhaseLog
from phasewalk.storage.writer import Writer

Statement = tuple[object, ...]


class Recording:
    """A connection that remembers what each transaction executed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._open: list[Statement] = []
        self.groups: list[list[Statement]] = []

    def execute(self, *statement: object) -> sqlite3.Cursor:
        if str(statement[0]).startswith("BEGIN"):
            self._open = []
        elif statement[0] == "COMMIT":
            self.groups.append(self._open)
        elif not str(statement[0]).startswith("PRAGMA"):
            self._open.append(statement)
        return self._connection.execute(*statement)

    def __getattr__(self, name: str) -> object:
        return getattr(self._connection, name)


async def ours(folder: Path, turns: int, at_once: int, *, record: bool = False) -> tuple[float, list[list[Statement]]]:
    path = workload.fresh(folder, "ours.db")
    connection = open_for_writing(path)
    recording = Recording(connection)
    writer = Writer(recording if record else connection, path)
    log = SqlitePhaseLog(writer, open_for_reading(path), SystemClock())
    await log.start([workload.TURN_TABLE], "bench", "0")
    runner = workload.runner(log)
    recording.groups = []
    seconds = await workload.walk(runner, 0, turns, at_once)
    groups = recording.groups
    await writer.close()
    return seconds, groups


def by_hand(folder: Path, groups: list[list[Statement]], synchronous: str) -> float:
    path = workload.fresh(folder, "hand.db")
    connection = open_for_writing(path)
    connection.execute(
        "INSERT INTO process (host, pid, command, version, started_us, heartbeat_us) VALUES ('', 1, '', '', 0, 0)"
    )
    connection.execute("INSERT INTO machine VALUES (?, 'turn', '{}', 0)", (workload.TURN_TABLE.digest,))
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    start = time.perf_counter()
    for group in groups:
        connection.execute("BEGIN IMMEDIATE")
        for statement in group:
            connection.execute(*statement)
        connection.execute("COMMIT")
    seconds = time.perf_counter() - start
    connection.close()
    return seconds


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print("| workload | ours, turns/s | by hand, turns/s | ratio (median of rounds) | bar |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        for label, turns, at_once, synchronous in (("x1", 100, 1, "NORMAL"), ("x100", 200, 100, "FULL")):
            _, groups = asyncio.run(ours(folder, turns, at_once, record=True))
            mine, theirs = [], []
            for _ in range(rounds):
                mine.append(turns / asyncio.run(ours(folder, turns, at_once))[0])
                theirs.append(turns / by_hand(folder, groups, synchronous))
            ratio = statistics.median(a / b for a, b in zip(mine, theirs, strict=True))
            row = f"| {label} | {statistics.median(mine):.0f} | {statistics.median(theirs):.0f} ({synchronous})"
            print(f"{row} | {ratio:.2f} | 0.5 |")


if __name__ == "__main__":
    main()
