"""Test doubles that ship with the package: a clock turned by hand, a log in memory, ids that count.

They keep the promises of the real ones; none of them is used outside tests and benchmarks.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from attrs import define, field

from phasewalk.machine.circuit import CircuitAnswer
from phasewalk.machine.deadlines import Commit
from phasewalk.machine.records import Record, TurnEnded, TurnOpened
from phasewalk.machine.tooling import ApprovalCall


@define(order=True)
class ManualTimer:
    """A pending call of the manual clock."""

    when: float
    order: int
    callback: Callable[[], None] = field(order=False)
    cancelled: bool = field(default=False, order=False)

    def cancel(self) -> None:
        """Forget the call."""
        self.cancelled = True


class ManualClock:
    """A clock that moves only when told to. `advance` runs what falls due, in order."""

    def __init__(self, start: float = 1000.0, wall_us: int = 1_790_000_000_000_000) -> None:
        """`start` in monotonic seconds, `wall_us` in microseconds since the epoch."""
        self._now = start
        self._wall_offset_us = wall_us - int(start * 1_000_000)
        self._timers: list[ManualTimer] = []
        self._count = itertools.count()

    def monotonic(self) -> float:
        """Seconds."""
        return self._now

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        return int(self._now * 1_000_000) + self._wall_offset_us

    def step_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back; the monotonic clock does not notice (TURN-09)."""
        self._wall_offset_us += int(seconds * 1_000_000)

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced this far."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_at(self._now + seconds, lambda: None if future.done() else future.set_result(None))
        try:
            await future
        finally:
            timer.cancel()

    def call_at(self, when: float, callback: Callable[[], None]) -> ManualTimer:
        """Call back when the clock reaches `when`."""
        timer = ManualTimer(when, next(self._count), callback)
        heapq.heappush(self._timers, timer)
        return timer

    async def advance(self, seconds: float) -> None:
        """Move on by `seconds`, letting everything that waits run at its instant."""
        target = self._now + seconds
        await settle()
        while self._timers and self._timers[0].when <= target:
            timer = heapq.heappop(self._timers)
            if timer.cancelled:
                continue
            self._now = max(self._now, timer.when)
            timer.callback()
            await settle()
        self._now = target
        await settle()

    async def run_until(self, task: "asyncio.Task[object]", limit: float = 100_000.0) -> None:
        """Move from timer to timer until `task` is done, at most `limit` seconds on."""
        end = self._now + limit
        await settle()
        while not task.done() and self._timers and self._timers[0].when <= end:
            await self.advance(max(self._timers[0].when - self._now, 0.0))


async def settle(rounds: int = 50) -> None:
    """Let everything that can run now, run."""
    for _ in range(rounds):
        await asyncio.sleep(0)


class CountingIds:
    """Ids `turn-1`, `turn-2`, ...; the fraction is always the same."""

    def __init__(self, fraction: float = 0.0) -> None:
        """`fraction` is what `fraction()` returns."""
        self._turns = itertools.count(1)
        self._others = itertools.count(1)
        self._fraction = fraction

    def turn_id(self) -> str:
        """`turn-N`."""
        return f"turn-{next(self._turns)}"

    def token(self) -> str:
        """`token-N`."""
        return f"token-{next(self._others)}"

    def effect_id(self) -> str:
        """`effect-N`."""
        return f"effect-{next(self._others)}"

    def fraction(self) -> float:
        """As constructed."""
        return self._fraction


class MemoryTurnLog:
    """The log of one turn, in a list."""

    def __init__(self, log: "MemoryLog", turn_id: str) -> None:
        """Writes go to `log.rows` as (turn id, record)."""
        self._log = log
        self._turn_id = turn_id

    def write(self, *records: Record, durable: bool = False) -> Commit:  # noqa: ARG002 - the port's signature
        """Append; fails with whatever `log.failing` says."""
        commit = Commit()
        error = self._log.failing(records) if self._log.failing is not None else None
        if error is not None:
            commit.set_exception(error)
        else:
            self._log.rows.extend((self._turn_id, record) for record in records)
            if self._log.holding is None or not self._log.holding(records, commit):
                commit.set_result(None)
        return commit

    async def describe(self, *records: Record) -> None:
        """Append."""
        self._log.rows.extend((self._turn_id, record) for record in records)

    async def afterwards(self, *records: Record) -> None:
        """Append."""
        self._log.rows.extend((self._turn_id, record) for record in records)


@define
class MemoryLog:
    """A phase log in memory; `failing(records)` may return an error to raise instead of writing.

    `holding(records, commit)` may return True for a write that takes time; it then settles the commit later.
    """

    rows: list[tuple[str, Record]] = field(factory=list)
    keys: dict[str, str] = field(factory=dict)
    failing: Callable[[tuple[Record, ...]], Exception | None] | None = None
    holding: Callable[[tuple[Record, ...], Commit], bool] | None = None

    async def open(self, opened: TurnOpened, token: str, *records: Record) -> MemoryTurnLog | None:  # noqa: ARG002
        """Claim the trigger key, once."""
        if opened.trigger_key in self.keys:
            return None
        self.keys[opened.trigger_key] = opened.turn_id
        self.rows.extend((opened.turn_id, record) for record in (opened, *records))
        return MemoryTurnLog(self, opened.turn_id)

    async def find(self, trigger_key: str) -> str | None:
        """The turn that holds the key."""
        return self.keys.get(trigger_key)

    async def claim(self, turn_id: str, held: str, token: str, until_us: int) -> MemoryTurnLog | None:  # noqa: ARG002
        """Hand over any turn that was opened here and has not ended."""
        ended = any(isinstance(record, TurnEnded) for record in self.of(turn_id))
        return None if ended or turn_id not in self.keys.values() else MemoryTurnLog(self, turn_id)

    def of(self, turn_id: str) -> list[Record]:
        """The records of one turn, in order."""
        return [record for owner, record in self.rows if owner == turn_id]


class ClosedCircuits:
    """Circuits that let everybody pass; `answers` may say otherwise, by provider. Remembers who was asked about."""

    def __init__(self, **answers: CircuitAnswer) -> None:
        """`answers` are given every time."""
        self.asked: list[str] = []
        self._answers = answers

    async def admit(self, provider: str, turn_id: str, now_us: int, until_us: int) -> CircuitAnswer:  # noqa: ARG002 - the port's signature
        """As constructed."""
        self.asked.append(provider)
        return self._answers.get(provider, CircuitAnswer())


class MemoryApprovals:
    """Permissions in memory: `permitted` holds (tool, arguments), each used once; `waiting` what was asked for."""

    def __init__(self, *permitted: tuple[str, str]) -> None:
        """Permissions to begin with."""
        self.permitted = list(permitted)
        self.waiting: list[ApprovalCall] = []

    async def take(self, call: ApprovalCall) -> bool:
        """Use one up."""
        if (call.tool, call.arguments) not in self.permitted:
            return False
        self.permitted.remove((call.tool, call.arguments))
        return True

    async def ask(self, call: ApprovalCall) -> str:
        """`approval-N`."""
        self.waiting.append(call)
        return f"approval-{len(self.waiting)}"
