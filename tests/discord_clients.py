"""Real Discord clients for tests, which talk to a fake Discord."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import discord

from phasewalk.surfaces.discord_testing.pointing import Addressed, pointed_at

TOKEN = "fake-token"


class Listener(discord.Client):
    """A real client that keeps every event it is told, by the library's names."""

    def __init__(self, intents: discord.Intents | None = None, **options: Any) -> None:
        super().__init__(intents=intents or discord.Intents.all(), guild_ready_timeout=0.05, **options)
        self.heard: dict[str, list[Any]] = {}
        self.news = asyncio.Event()

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """No pause before a second IDENTIFY, which the library makes 5 seconds long."""

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        super().dispatch(event, *args, **kwargs)
        self.heard.setdefault(event, []).append(args)
        self.news.set()

    async def told(self, event: str, times: int = 1) -> Any:
        """Wait until an event came so often; its newest first argument."""
        async with asyncio.timeout(10):
            while len(self.heard.get(event, ())) < times:
                self.news.clear()
                await self.news.wait()
        return (self.heard[event][-1] or (None,))[0]


@asynccontextmanager
async def connected(fake: Addressed, client: Listener, token: str = TOKEN) -> AsyncIterator[Listener]:
    """A client that runs until the block ends."""
    with pointed_at(fake):
        async with client:
            running = asyncio.create_task(client.start(token))
            try:
                await client.told("ready")
                yield client
            finally:
                await client.close()
                await running


def general(client: discord.Client) -> discord.TextChannel:
    """The channel of that name."""
    return next(channel for channel in client.get_all_channels() if channel.name == "general")
