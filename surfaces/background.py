"""Turns that no message opens: begun beside the others, ended with the process (TURN-17).

Owns the tasks that walk them, and polling. Decides nothing of what is due. Invariants: of one name one turn is at work
at a time; one whose turn in its lane has not come is given up when the process is asked to stop, any other ends by
itself.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from phasewalk.machine.deadlines import Clock
from phasewalk.machine.errors import PhasewalkError
from phasewalk.machine.runner import Ended
from phasewalk.machine.text import told
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Kind
from phasewalk.storage.jobs import Job, Reminder
from phasewalk.storage.quiet import Quiet
from phasewalk.surfaces.signals import Stopping
from phasewalk.surfaces.wiring import Application

Lane = Callable[[str], AbstractAsyncContextManager[None]]
"""Within this block it is the caller's turn in a channel, by the channel's id (TURN-12)."""


def trigger_for(
    one: Job | Reminder | Quiet, key: str, kind: Kind, text: str, families: tuple[str, ...] = ()
) -> Trigger:
    """What opens such a turn; it may use these families, whatever words its text has."""
    return Trigger(
        key=key,
        kind=kind,
        text=text,
        channel_id=one.channel_id,
        channel_name=one.channel_name,
        user_id=one.user_id,
        user_name=one.user_name,
        guild_id=one.guild_id,
        families=families,
    )


@asynccontextmanager
async def at_once(channel_id: str) -> AsyncIterator[None]:  # noqa: ARG001 - a lane's signature
    """A lane for whoever has none."""
    yield


class Background:
    """Walks what others find to be due."""

    def __init__(
        self,
        app: Application,
        stopping: Stopping,
        *,
        lane: Lane = at_once,
        clock: Clock | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`say` tells the operator; `clock` is the application's, unless another one is given."""
        self.app = app
        self.say = say
        self.clock = clock or app.clock
        self._stopping = stopping
        self._lane = lane
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._keys: dict[str, str] = {}
        self._walking: set[str] = set()

    def key_of(self, name: str) -> str | None:
        """The key of the turn of this name that is at work or waits for its lane."""
        return self._keys.get(name)

    def begin(self, name: str, trigger: Trigger, known: Callable[[str], Awaitable[None]] | None = None) -> None:
        """Walk a turn, unless one of this name is at work; `known` is told the key where there was such a turn."""
        if name in self._tasks or self._stopping:
            return
        task = asyncio.create_task(self._walk(name, trigger, known), name=f"background {name}")
        self._tasks[name], self._keys[name] = task, trigger.key
        task.add_done_callback(lambda done: self._ended(name, done))

    async def polling(self, poll: Callable[[], Awaitable[None]], every: float) -> None:
        """Poll every so many seconds until the process is asked to stop; a log that cannot be used is tried again."""
        asked = asyncio.ensure_future(self._stopping.wait())
        said = ""
        try:
            while not self._stopping:
                try:
                    await poll()
                    said = ""
                except (PhasewalkError, sqlite3.Error) as error:
                    said = self._say_once(f"what is due cannot be told: {told(str(error))}", said)
                pause = asyncio.ensure_future(self.clock.sleep(every))
                await asyncio.wait({asked, pause}, return_when=asyncio.FIRST_COMPLETED)
                pause.cancel()
        finally:
            asked.cancel()

    @asynccontextmanager
    async def at_work(self, *polls: Awaitable[None]) -> AsyncIterator[None]:
        """Within this block these poll; behind it every turn has ended or was given up."""
        polling = [asyncio.ensure_future(poll) for poll in polls]
        try:
            yield
        finally:
            for task in polling:
                task.cancel()
            await asyncio.gather(*polling, return_exceptions=True)
            await self.end()

    async def end(self) -> None:
        """Give up what has not begun, and wait for the rest."""
        for name, task in self._tasks.items():
            if name not in self._walking:
                task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _walk(self, name: str, trigger: Trigger, known: Callable[[str], Awaitable[None]] | None) -> None:
        async with self._lane(trigger.channel_id):
            self._walking.add(name)
            ended: Ended = await self.app.run(trigger)
            if ended.log_lost:
                self.say(f"{ended.problem}; the turn is settled when the log can be written again")
            elif not ended.known and not self._stopping:
                await self.app.sum_up(trigger.channel_id, trigger.channel_name)
        if ended.known and known is not None:
            await known(trigger.key)

    def _ended(self, name: str, task: "asyncio.Task[None]") -> None:
        del self._tasks[name], self._keys[name]
        self._walking.discard(name)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.say(f"the turn of {name} broke off: {told(f'{type(error).__name__}: {error}')}")

    def _say_once(self, text: str, said: str) -> str:
        if text != said:
            self.say(text)
        return text
