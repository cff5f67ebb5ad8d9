"""Time as it was: a clock that shows the recorded instants, and an event loop that waits on it without waiting.

Owns both. Knows no turn. Invariants: time never goes back; whatever waits for an instant is woken at it, in order,
and nothing real is waited for; the loop opens no socket, which every ordinary one does to wake itself up.
"""

import asyncio
from collections.abc import Callable

from phasewalk.machine.deadlines import Timer
from phasewalk.storage.recorded_turn import Moment


class ReplayClock:
    """Implements `Clock`; begins at the moment at which the turn was opened."""

    def __init__(self, begun: Moment) -> None:
        self._now = begun.mono
        self._offset_us = begun.at_us - begun.mono * 1e6

    def monotonic(self) -> float:
        """Seconds."""
        return self._now

    def now_us(self) -> int:
        """Microseconds since the epoch, as the wall clock stood."""
        return round(self._now * 1e6 + self._offset_us)

    def show(self, moment: Moment) -> None:
        """Be at a recorded moment, unless it is past; the wall clock is set as it was."""
        self._now = max(self._now, moment.mono)
        self._offset_us = moment.at_us - moment.mono * 1e6

    def leap(self, seconds: float) -> None:
        """Move on."""
        self._now += seconds

    async def sleep(self, seconds: float) -> None:
        """Wait on the loop, which leaps."""
        await asyncio.sleep(seconds)

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call back at the instant."""
        return asyncio.get_running_loop().call_at(when, callback)


class StalledError(RuntimeError):
    """Everything waits for something that will never come."""


class _Leaps:
    """Stands where a loop has its selector: instead of waiting, time moves on."""

    def __init__(self, clock: ReplayClock) -> None:
        self._clock = clock

    def select(self, timeout: float | None) -> list[object]:
        """Nothing has happened meanwhile."""
        if timeout is None:
            raise StalledError("everything waits, and nothing will happen")
        self._clock.leap(timeout)
        return []


class ReplayLoop(asyncio.BaseEventLoop):
    """An event loop on a clock of the past."""

    def __init__(self, clock: ReplayClock) -> None:
        super().__init__()
        self._clock = clock
        self._selector = _Leaps(clock)

    def time(self) -> float:
        """The clock's."""
        return self._clock.monotonic()

    def _process_events(self, event_list: list[object]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody waits, so nobody need be woken."""
