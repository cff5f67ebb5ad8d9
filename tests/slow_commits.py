"""One commit of a real turn made slow: another connection holds the write lock until the turn has been stopped."""

import asyncio
import sqlite3
from collections.abc import Callable

from replaying import Place

from phasewalk.machine.deadlines import SystemClock, Timer
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import Record
from phasewalk.storage.phase_log import SqlitePhaseLog
from phasewalk.surfaces import wiring
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.speech import LogSurface

BUSY = 0.05
"""Seconds that the lock is held after the turn was stopped."""


class LeapingClock(SystemClock):
    """The real clock, which can be put forward: what falls due meanwhile rings at once."""

    def __init__(self) -> None:
        self.ahead = 0.0
        self.timers: list[LeapingTimer] = []

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    def now_us(self) -> int:
        return super().now_us() + round(self.ahead * 1e6)

    def call_at(self, when: float, callback: Callable[[], None]) -> "LeapingTimer":
        timer = LeapingTimer(self, when, callback)
        self.timers.append(timer)
        return timer

    def leap(self, seconds: float) -> None:
        self.ahead += seconds
        for timer in self.timers:
            timer.set()


class LeapingTimer:
    """A pending call of that clock."""

    def __init__(self, clock: LeapingClock, when: float, callback: Callable[[], None]) -> None:
        self.clock, self.when, self.callback = clock, when, callback
        self.handle: Timer | None = None
        self.set()

    def set(self) -> None:
        """Wait on the loop, as long as is left now."""
        if self.handle is not None:
            self.handle.cancel()
        self.handle = asyncio.get_running_loop().call_at(self.when - self.clock.ahead, self._ring)

    def _ring(self) -> None:
        self.cancel()
        self.callback()

    def cancel(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
        if self in self.clock.timers:
            self.clock.timers.remove(self)


class SlowCommit:
    """Walks one turn whose first commit of a record that `is_slow` is still on its way when the turn is stopped.

    `stop` is the reason: `deadline_passed` puts the clock forward by `seconds`, any other one cancels.
    """

    def __init__(self, place: Place, monkeypatch, is_slow: Callable[[Record], bool], stop: str, seconds: float) -> None:
        self.place, self.is_slow, self.stop, self.seconds = place, is_slow, stop, seconds
        self.met = False
        self.clock = LeapingClock()
        self.app: wiring.Application | None = None
        write = SqlitePhaseLog.write

        def slow(log: SqlitePhaseLog, turn_id: str, token: str, records: tuple[Record, ...], *, durable: bool):
            if not self.met and any(map(is_slow, records)):
                self.met = True
                self._hold(turn_id)
            return write(log, turn_id, token, records, durable=durable)

        monkeypatch.setattr(SqlitePhaseLog, "write", slow)
        monkeypatch.setattr(wiring, "SystemClock", lambda: self.clock)

    def _hold(self, turn_id: str) -> None:
        other = sqlite3.connect(self.place.workplace.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        loop = asyncio.get_running_loop()
        loop.call_soon(self._stop, turn_id)
        loop.call_later(BUSY, other.close)

    def _stop(self, turn_id: str) -> None:
        if self.stop == Reason.DEADLINE_PASSED:
            self.clock.leap(self.seconds)
        elif self.app is not None:
            self.app.runner.cancel(turn_id, Reason(self.stop))

    async def walk(self, text: str, url: str, surface: LogSurface) -> None:
        """The turn; its own deadline is 30 seconds."""
        self.place.urls = (url,)
        self.place.configure()
        configuration = load_configuration(self.place.workplace.folder / "phasewalk.toml")
        async with wiring.application(configuration, self.place.workplace.database, surface, "test") as app:
            self.app = app
            await self.place._turn(app, text, {"seconds": 30.0})
        assert self.met
