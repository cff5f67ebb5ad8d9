"""Who may start a turn now: places for running turns, a bounded queue, a few for one person, and the pause (TURN-11).

Owns the counting. Walks nothing, and says nothing to anybody: a refused trigger gets its turn, which says why.
Invariant: every way out of a place gives back all that was taken for it.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from attrs import define, field, frozen

from phasewalk.machine.deadlines import Clock
from phasewalk.machine.reasons import Reason
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.turn_ids import floor_of
from phasewalk.storage.flags import SqliteFlags

DAY = 86_400
_TODAY = (
    "SELECT count(*) FROM turn WHERE turn_id >= ? AND user_id = ? AND addressed = 1"
    " AND (outcome IS NULL OR outcome <> 'refused')"
)


@frozen
class Bounds:
    """What bounds admission; times in seconds. A cool-down or a daily number of 0 is none.

    Both count only what speaks to the bot: who talks beside it is not held up for that.
    """

    running: int = 32
    queued: int = 32
    per_user: int = 3
    max_wait: float = 20.0
    cool_down: float = 0.0
    daily: int = 0


@define
class Desk:
    """Implements the machine's `Admission` for one process; the pause and the daily number hold for all of them."""

    bounds: Bounds
    clock: Clock
    reader: sqlite3.Connection
    _flags: SqliteFlags = field(init=False)
    _slots: asyncio.Semaphore = field(init=False)
    _waiting: int = 0
    _pending: Counter[str] = field(factory=Counter)
    _last: dict[str, float] = field(factory=dict)
    _refused: dict[str, Reason] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Make what is counted with."""
        self._flags = SqliteFlags(self.reader)
        self._slots = asyncio.Semaphore(self.bounds.running)

    async def refusal(self, trigger: Trigger) -> Reason | None:
        """Why this trigger gets no work done, or None."""
        return Reason.PAUSED if self.paused else self._refused.get(trigger.key)

    @property
    def paused(self) -> bool:
        """Whether an operator has paused everything that walks turns."""
        return self._flags.paused() is not None

    @asynccontextmanager
    async def place(self, trigger: Trigger, lane: asyncio.Lock) -> AsyncIterator[None]:
        """Within this block the trigger may be run: in its lane and with a place, or refused and beside the lane."""
        async with AsyncExitStack() as held:
            refusal = self._at_the_door(trigger, lane)
            if refusal is None:
                self._pending[trigger.user_id] += 1
                held.callback(self._gone, trigger.user_id)
                refusal = await self._waited(lane, held)
            if refusal is not None:
                self._refused[trigger.key] = refusal
                held.callback(self._refused.pop, trigger.key, None)
            elif trigger.addressed is not None and self.bounds.cool_down:
                self._last[trigger.user_id] = self.clock.monotonic()
            yield

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A place for work that nobody waits for at the door; it is never refused."""
        async with self._slots:
            yield

    def _at_the_door(self, trigger: Trigger, lane: asyncio.Lock) -> Reason | None:
        bounds, person = self.bounds, trigger.user_id
        if (lane.locked() or self._slots.locked()) and self._waiting >= bounds.queued:
            return Reason.QUEUE_FULL
        if self._pending[person] >= bounds.per_user:
            return Reason.USER_LIMIT
        if trigger.addressed is not None and (self._cooling(person) or self._used_up(person)):
            return Reason.USER_LIMIT
        return None

    def _cooling(self, person: str) -> bool:
        now, cool_down = self.clock.monotonic(), self.bounds.cool_down
        self._last = {one: at for one, at in self._last.items() if now - at < cool_down}
        return person in self._last

    def _used_up(self, person: str) -> bool:
        if not self.bounds.daily:
            return False
        second = self.clock.now_us() // 1_000_000
        (count,) = self.reader.execute(_TODAY, (floor_of(second - second % DAY), person)).fetchone()
        return int(count) >= self.bounds.daily

    async def _waited(self, lane: asyncio.Lock, held: AsyncExitStack) -> Reason | None:
        """Wait for the lane, then for a place; what was taken is given back by `held`."""
        self._waiting += 1
        taken = AsyncExitStack()
        try:
            async with asyncio.timeout(self.bounds.max_wait):
                await taken.enter_async_context(lane)
                await taken.enter_async_context(self._slots)
        except TimeoutError:
            await taken.aclose()
            return Reason.WAIT_TOO_LONG
        except BaseException:
            await taken.aclose()
            raise
        finally:
            self._waiting -= 1
        held.push_async_exit(taken.pop_all())
        return None

    def _gone(self, person: str) -> None:
        self._pending[person] -= 1
        if self._pending[person] <= 0:
            del self._pending[person]
