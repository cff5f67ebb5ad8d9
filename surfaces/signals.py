"""What SIGTERM and Ctrl-C mean to a process that walks turns (TURN-16).

The first asks to stop: nothing new begins, and turns that still run after a grace end with the restart notice. The
second ends at once; what was interrupted is settled by recovery.
"""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from phasewalk.machine.reasons import Reason
from phasewalk.machine.runner import Runner


class Stopping:
    """Whether a signal has asked this process to stop; `signal` is its number, or None."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._asked = asyncio.Event()

    def ask(self, number: int) -> None:
        """A signal has come."""
        self.signal = number
        self._asked.set()

    async def wait(self) -> None:
        """Until a signal comes."""
        await self._asked.wait()

    def __bool__(self) -> bool:
        return self.signal is not None


@contextmanager
def stop_on_signals(*runners: Runner, grace: float = 0.0) -> Iterator[Stopping]:
    """Within this block the first SIGINT or SIGTERM stops what runs, and the second is the system's own.

    Running turns have `grace` seconds to end by themselves.
    """
    stopping = Stopping()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def asked(number: int) -> None:
        stopping.ask(number)
        for each in numbers:
            loop.remove_signal_handler(each)
        if grace:
            loop.call_later(grace, stop)
        else:
            stop()

    def stop() -> None:
        for runner in runners:
            for turn_id in runner.active:
                runner.cancel(turn_id, Reason.SHUTTING_DOWN)

    for number in numbers:
        loop.add_signal_handler(number, asked, number)
    try:
        yield stopping
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
