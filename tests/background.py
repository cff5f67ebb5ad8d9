"""An application on a real file whose jobs and follow-ups go by a clock turned by hand."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from phasewalk.machine.ports import Sight
from phasewalk.machine.speech import Speech
from phasewalk.machine.testing import ManualClock
from phasewalk.machine.trigger import Trigger
from phasewalk.storage.jobs import Job, add_job
from phasewalk.surfaces.background import Background
from phasewalk.surfaces.idle import Idle
from phasewalk.surfaces.scheduler import Scheduler
from phasewalk.surfaces.sections import Configuration, IdleSection
from phasewalk.surfaces.signals import Stopping
from phasewalk.surfaces.speech import LogSurface
from phasewalk.surfaces.wiring import Application, application


class Place(LogSurface):
    """Where turns speak; `sights` are what is seen of follow-ups, one look after the other."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.sights: list[Sight] = []

    async def look(self, trigger: Trigger) -> Sight:
        return self.sights.pop(0) if self.sights else Sight.AS_IT_WAS

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:
        self.said.append((trigger.channel_id, speech.text))
        return await super().send(speech, trigger, key)


class Runner:
    """One process with its scheduler, and its follow-ups."""

    def __init__(self, app: Application, place: Place, clock: ManualClock, idle: IdleSection) -> None:
        self.app = app
        self.place = place
        self.clock = clock
        self.told: list[str] = []
        self.stopping = Stopping()
        self.background = Background(app, self.stopping, clock=clock, say=self.told.append)
        self.scheduler = Scheduler(self.background)
        self.idle = Idle(self.background, idle)

    async def job(self, name: str = "daily", text: str = "hello", **columns: object) -> None:
        """A job in the log; a recurring one unless the columns say otherwise."""
        values = {
            "name": name, "kind": "recurring", "cron": "30 2 * * *", "zone": "Europe/Berlin", "state": "active",
            "channel_id": "204", "channel_name": "general", "user_id": "77", "user_name": "mira", "text": text,
            "created_us": 1, "created_by": "eve", **columns,
        }  # fmt: skip
        await self.app.jobs.writer.call(lambda log: add_job(log, Job(**values)))

    async def poll(self, times: int = 1) -> None:
        """Poll, and let what was begun come to its end."""
        for _ in range(times):
            await self.scheduler.poll()
            await self.idle.poll()
            await self.settled()

    async def settled(self) -> None:
        while self.background._tasks:
            await asyncio.wait(self.background._tasks.values())
            await asyncio.sleep(0)

    async def go(self, seconds: float, step: float) -> None:
        """Let time pass, polling every `step` seconds."""
        passed = 0.0
        while passed < seconds:
            await self.clock.advance(step)
            passed += step
            await self.poll()

    def rows(self, query: str, *values: object) -> list[tuple]:
        return self.app.reader.execute(query, values).fetchall()

    def keys(self) -> list[str]:
        """The keys of the turns that no message opened, in order."""
        return [key for (key,) in self.rows("SELECT trigger_key FROM turn WHERE kind <> 'user' ORDER BY turn_id")]

    def job_row(self, columns: str, name: str = "daily") -> tuple:
        return self.rows(f"SELECT {columns} FROM job WHERE name = ?", name)[0]


@asynccontextmanager
async def running(
    path: Path, now_us: int, configuration: Configuration | None = None, clock: ManualClock | None = None
) -> AsyncIterator[Runner]:
    """A process on this log, at this time of its clock."""
    place, chosen = Place(), configuration or Configuration()
    async with application(chosen, path, place, "bot", reached={}) as app:
        runner = Runner(app, place, clock or ManualClock(wall_us=now_us), chosen.idle)
        yield runner
        await runner.background.end()
