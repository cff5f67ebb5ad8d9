"""Instants, and waiting for foreign code that may not listen (TURN-05, TURN-08).

Owns `within`: run somebody else's coroutine up to an instant, cancel it, and move on even if it does not
react. Knows no turn. Invariant: `within` returns or raises no later than limit plus clean-up time.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Timer(Protocol):
    """A pending call; `cancel` makes it never happen."""

    def cancel(self) -> None:
        """Forget the call."""


class Clock(Protocol):
    """Time, injected. Monotonic seconds rule; wall-clock microseconds are for people."""

    def monotonic(self) -> float:
        """Seconds on a clock that never steps."""

    def now_us(self) -> int:
        """Microseconds since the epoch; may step."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call back at the monotonic instant `when`."""


class Commit:
    """The promise of a commit. Cancelling who waits for it does not cancel the commit.

    The waiter gets its `CancelledError` when the commit is over, and finds the result here. One that is over
    already is awaited without a turn of the event loop: most are.
    """

    __slots__ = ("_callbacks", "_done", "_error", "_result", "_waiting")

    def __init__(self) -> None:
        self._done = False
        self._result: object = None
        self._error: BaseException | None = None
        self._waiting: list[asyncio.Future[None]] = []
        self._callbacks: list[Callable[[Commit], None]] = []

    def done(self) -> bool:
        """Whether it is over."""
        return self._done

    def set_result(self, result: object) -> None:
        """It is committed."""
        self._result = result
        self._settle()

    def set_exception(self, exception: BaseException) -> None:
        """It is not, and will not be."""
        self._error = exception
        self._settle()

    def exception(self) -> BaseException | None:
        """Why it is not committed; None when it is."""
        return self._error

    def result(self) -> object:
        """What the work returned; raises what kept it from being committed."""
        if self._error is not None:
            raise self._error
        return self._result

    def add_done_callback(self, callback: "Callable[[Commit], None]") -> None:
        """Call back at the moment when it is over."""
        if self._done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def _settle(self) -> None:
        self._done = True
        for callback in self._callbacks:
            callback(self)
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def __await__(self) -> Generator[Any, None, object]:
        cancelled: asyncio.CancelledError | None = None
        while not self._done:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            try:
                yield from waiting
            except asyncio.CancelledError as error:  # rows on their way to the disk stay on their way
                cancelled = error
        if cancelled is not None:
            raise cancelled
        return self.result()


class LimitPassedError(Exception):
    """The instant came before the work ended. Not a `TimeoutError`: that one belongs to the work itself."""


class CancelledByWorkError(Exception):
    """The awaited work cancelled itself; nobody asked it to."""


async def within(
    work: Coroutine[Any, Any, T],
    limit: float,
    clock: Clock,
    *,
    cleanup: float = 1.0,
    on_late: Callable[["asyncio.Task[T]"], None] | None = None,
) -> T:
    """The result of `work`, if it comes before the monotonic instant `limit`.

    Otherwise `work` is cancelled and `LimitPassedError` raised, after at most `cleanup` seconds of waiting for
    it to react; when it ends later all the same, `on_late` gets its task, and its result is used for nothing
    else. When the caller is cancelled, so is `work`, and nobody waits for it. A cancellation that `work` raises
    by itself comes back as `CancelledByWorkError`.
    """
    task = asyncio.ensure_future(work)
    try:
        if not await _done_before(task, limit, clock):
            await _dismiss(task, clock, cleanup, on_late)
            raise LimitPassedError
    except asyncio.CancelledError:
        task.cancel()
        _abandon(task, on_late)
        raise
    if task.cancelled():
        raise CancelledByWorkError
    return task.result()


_in_background: set["asyncio.Task[Any]"] = set()


def in_background(work: Coroutine[Any, Any, Any]) -> None:
    """Let `work` run beside everything else, without anybody waiting for it; it must handle its own errors."""
    task = asyncio.ensure_future(work)
    _in_background.add(task)
    task.add_done_callback(_in_background.discard)


async def _done_before(task: "asyncio.Task[T]", limit: float, clock: Clock) -> bool:
    """Wait for `task` up to the instant; whether it has ended."""
    expired: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = clock.call_at(limit, lambda: None if expired.done() else expired.set_result(None))
    try:
        waiting: list[asyncio.Future[Any]] = [task, expired]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
    return task.done()


async def _dismiss(
    task: "asyncio.Task[T]",
    clock: Clock,
    cleanup: float,
    on_late: Callable[["asyncio.Task[T]"], None] | None,
) -> None:
    """Cancel, give `cleanup` seconds to react, then let go."""
    task.cancel()
    await _done_before(task, clock.monotonic() + cleanup, clock)
    _abandon(task, on_late)


def _abandon(task: "asyncio.Task[T]", on_late: Callable[["asyncio.Task[T]"], None] | None) -> None:
    def ended(done: "asyncio.Task[T]") -> None:
        if done.cancelled():
            return
        done.exception()  # looked at, so that asyncio does not complain about it later
        if on_late is not None:
            on_late(done)

    task.add_done_callback(ended)


class SystemClock:
    """The real clock, on the running event loop."""

    def monotonic(self) -> float:
        """Seconds; the same clock that the event loop uses."""
        return time.monotonic()

    def now_us(self) -> int:
        """Microseconds since the epoch."""
        return time.time_ns() // 1000

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        await asyncio.sleep(seconds)

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call back on the event loop."""
        return asyncio.get_running_loop().call_at(when, callback)
