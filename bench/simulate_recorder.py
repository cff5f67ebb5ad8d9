"""A clock that jumps, and a writer that commits at once and remembers every statement of the real log.

Owns nothing of a turn. The writer stands where `storage.writer.Writer` stands elsewhere.
"""

import heapq
import random
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen
from simulate_story import MONO0, WALL0_US

from phasewalk.machine.deadlines import Commit
from phasewalk.machine.testing import ManualClock, settle
from phasewalk.storage.compression import unpacked
from phasewalk.storage.statements import PAYLOAD


class StoryClock(ManualClock):
    """Waiting moves it; what falls due meanwhile happens at its instant."""

    def __init__(self) -> None:
        super().__init__(MONO0, WALL0_US)

    def begin(self) -> None:
        self._now, self._timers = MONO0, []

    def spend(self, seconds: float) -> None:
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        await self.advance(seconds)

    async def advance(self, seconds: float) -> None:
        target = self._now + seconds
        while self._timers and self._timers[0].when <= target:
            timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                self._now = max(self._now, timer.when)
                timer.callback()
                await settle(8)
        self._now = max(self._now, target)


class Recorder:
    """A connection that remembers what is written through it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.statements: list[tuple[str, tuple[Any, ...]]] = []
        self.texts: dict[str, str] = {}

    def execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        if sql == PAYLOAD:
            self.texts[values[0]] = unpacked(values[2], values[3])
        elif not sql.startswith("SELECT"):
            self.statements.append((sql, tuple(values)))
        return self._connection.execute(sql, values)

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        for row in rows:
            self.execute(sql, row)


class DirectWriter:
    """Commits at once; a commit costs a little time."""

    def __init__(self, recorder: Recorder, clock: StoryClock, chance: random.Random) -> None:
        self._recorder, self._clock, self._chance = recorder, clock, chance

    def submit(self, unit: Any) -> None:
        self._clock.spend(self._chance.lognormvariate(-7.6, 0.5) * (4 if unit.durable else 1))
        try:
            done = unit.work(self._recorder)
        except Exception as error:  # noqa: BLE001 - whoever waits for the commit gets it
            unit.promise.set_exception(error)
        else:
            unit.promise.set_result(done)

    async def call(self, work: Callable[[Any], object], *, durable: bool = False) -> object:
        commit = Commit()
        self.submit(_Unit(work, commit, durable))
        return await commit


@frozen
class _Unit:
    work: Callable[[Any], object]
    promise: Commit
    durable: bool
