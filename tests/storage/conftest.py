"""An open log in a folder of its own, and turns written into it record by record."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from phasewalk.machine.documents import payload_of
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import PhaseEntered, PhaseExited, Record, TurnEnded, TurnMoved, TurnOpened
from phasewalk.machine.testing import ManualClock
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.machine.words import Outcome
from phasewalk.storage.database import open_for_reading, open_for_writing
from phasewalk.storage.phase_log import SqlitePhaseLog, SqliteTurnLog
from phasewalk.storage.writer import Writer

SECOND = 1_000_000


class OpenLog:
    """A log on a file, and short ways to write turns and to look."""

    def __init__(self, path: Path, *, patience: float = 15.0) -> None:
        self.path = path
        self.clock = ManualClock(wall_us=time.time_ns() // 1000)
        self.writer = Writer(open_for_writing(path), path, patience=patience)
        self.reader = open_for_reading(path)
        self.log = SqlitePhaseLog(self.writer, self.reader, self.clock)

    async def start(self) -> "OpenLog":
        await self.log.start([TURN_TABLE], "feed", "0.1.0")
        return self

    async def close(self) -> None:
        await self.writer.close()
        self.reader.close()

    def opened(self, turn_id: str, **changes: object) -> TurnOpened:
        now = self.clock.now_us()
        values = {
            "turn_id": turn_id, "machine": "turn", "machine_hash": TURN_TABLE.digest, "kind": "user",
            "trigger_key": f"key:{turn_id}", "guild_id": "1", "channel_id": "2", "channel_name": "general",
            "user_id": "3", "user_name": "ann", "trigger_message_id": "4", "text": payload_of("hello"),
            "started_us": now, "deadline_us": now + 360 * SECOND, "addressed": "mention",
        }  # fmt: skip
        return TurnOpened(**{**values, **changes})

    def entered(self, seq: int, phase: str = "received", **changes: object) -> PhaseEntered:
        now = self.clock.now_us()
        values = {
            "seq": seq,
            "phase": phase,
            "visit": 1,
            "at_us": now,
            "mono_ns": seq * 1_000_000,
            "budget_ms": 360_000,
        }
        return PhaseEntered(**{**values, **changes})

    def exited(
        self, seq: int, phase: str, event: str, transition: str, to_phase: str, **changes: object
    ) -> PhaseExited:
        values = {
            "seq": seq, "phase": phase, "visit": 1, "at_us": self.clock.now_us(), "mono_ns": seq * 1_000_000,
            "event": event, "transition": transition, "to_phase": to_phase, "guards": None, "reason": None,
            "detail": None,
        }  # fmt: skip
        return PhaseExited(**{**values, **changes})

    def moved(self, phase: str = "classify") -> TurnMoved:
        return TurnMoved(phase=phase, attempts=0, rounds=0, effects=0, contract_hash=None)

    def ended(self, outcome: Outcome = Outcome.ANSWERED, reason: Reason = Reason.OK, **changes: object) -> TurnEnded:
        values = {
            "at_us": self.clock.now_us(), "outcome": outcome, "reason": reason, "reason_phase": "record",
            "first_reason": None, "owner": None, "notice_code": None, "reply_message_id": None, "attempts": 0,
            "rounds": 0, "effects": 0, "contract_hash": None,
        }  # fmt: skip
        return TurnEnded(**{**values, **changes})

    async def turn(self, turn_id: str, *records: Record, **changes: object) -> SqliteTurnLog:
        """A turn with these rows, claimed with the token `token`."""
        turn_log = await self.log.open(self.opened(turn_id, **changes), "token", self.entered(1))
        assert turn_log is not None
        if records:
            await turn_log.write(*records)
        return turn_log

    def rows(self, query: str, *values: object) -> list[tuple]:
        return self.reader.execute(query, values).fetchall()

    def other(self) -> sqlite3.Connection:
        """Another connection to the file, as of another program; the caller closes it."""
        return sqlite3.connect(self.path, isolation_level=None, timeout=0.0)

    def locked(self, seconds: float) -> sqlite3.Connection:
        """Another connection that holds the write lock for this long, or until it is closed."""
        other = self.other()
        other.execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(seconds, other.close)
        return other


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[OpenLog]:
    opened = await OpenLog(tmp_path / "log.db").start()
    yield opened
    await opened.close()


@pytest.fixture
def another():
    """The class, for tests that open a second log on the same file."""
    return OpenLog
