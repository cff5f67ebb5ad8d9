"""The bot as a real process, on a fake Discord and a scripted model server that live in the test's own loop."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from phasewalk.phases.providers.testing import Recorded, envelope
from phasewalk.phases.providers.testing_steps import Reply
from phasewalk.surfaces.discord_testing import FakeDiscord

PROGRAM = (sys.executable, "-m", "phasewalk.surfaces.cli")
LONGEST = 20.0
"""Seconds until something is said not to happen."""


async def until(condition: Callable[[], Any], seconds: float = LONGEST, what: Callable[[], str] = str) -> Any:
    """What `condition` gives as soon as it is true; `what` tells what is seen when it never is."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"it did not come to that: {what()}"
        await asyncio.sleep(0.02)
    return found


def echo(request: Recorded) -> Reply:
    """A model that says what it was told last."""
    said = json.loads(request.json["messages"][-1]["content"])["message"]["text"]
    return envelope(f"You said {said}")


class Bot:
    """`phasewalk bot` in a workplace, one process after the other."""

    def __init__(self, workplace: Any, fake: FakeDiscord) -> None:
        self.workplace = workplace
        self.fake = fake
        self.world = fake.world
        self.process: subprocess.Popen[str] | None = None
        self.starts = 0
        self.token = "fake-token"
        self.api = fake.api

    @property
    def environment(self) -> dict[str, str]:
        return {
            **self.workplace.environment,
            **self.fake.environment,
            "DISCORD_TOKEN": self.token,
            "PHASEWALK_DISCORD_API": self.api,
        }

    @property
    def told(self) -> str:
        """What the processes have written to standard error."""
        return "".join(path.read_text("utf-8") for path in sorted(Path(self.workplace.folder).glob("bot-*.err")))

    async def start(self, *options: str, ready: bool = True) -> None:
        """A process of the bot; with `ready` it hears when this returns."""
        self.starts += 1
        with (Path(self.workplace.folder) / f"bot-{self.starts}.err").open("w") as errors:
            self.process = subprocess.Popen(  # noqa: ASYNC220 - the fork is over in milliseconds
                [*PROGRAM, *options, "bot"],
                cwd=self.workplace.folder,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                text=True,
            )
        if ready:
            await self.until(lambda: self.told.count("hearing as") >= self.starts)

    async def until(self, condition: Callable[[], Any], seconds: float = LONGEST) -> Any:
        return await until(condition, seconds, lambda: f"{self.said()} {self.told}")

    async def end(self, number: int = signal.SIGTERM) -> int:
        """Send the signal and give the exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return await self.ended()

    async def ended(self) -> int:
        assert self.process is not None
        status = await asyncio.wait_for(asyncio.to_thread(self.process.wait), LONGEST)
        self.process = None
        return status

    def said(self, channel: str = "general") -> list[str]:
        """The bot's messages that stand in a channel."""
        return [one.content for one in self.world.said() if one.channel.name == channel]

    def turns(self, columns: str = "outcome, reason") -> list[tuple[Any, ...]]:
        """These columns of every turn, in order."""
        if not self.workplace.database.exists():
            return []
        found: list[tuple[Any, ...]] = self.workplace.rows(f"SELECT {columns} FROM turn ORDER BY turn_id")
        return found

    def ignored(self) -> set[str]:
        """The reasons for which messages opened no turn."""
        return {reason for (reason,) in self.workplace.rows("SELECT DISTINCT reason FROM ignored_message")}

    async def all_ended(self, count: int) -> list[tuple[Any, ...]]:
        """Outcome and reason of every turn, once `count` of them have ended."""
        await self.until(lambda: sum(outcome is not None for (outcome,) in self.turns("outcome")) >= count)
        return self.turns()
