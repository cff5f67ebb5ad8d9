"""The client: the real discord.py one, whose events become what `Hearing` hears.

Owns which intents are asked for and when missed messages are caught up with. Decides nothing about a message.
"""

import os
from collections.abc import Callable

import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from phasewalk.surfaces.discord.hearing import Hearing

LONGEST_LIMIT = 30.0
"""Seconds; a rate limit that asks for more is a failure now (DIS-07)."""

API, GATEWAY = "PHASEWALK_DISCORD_API", "PHASEWALK_DISCORD_GATEWAY"


def point_from_environment() -> None:
    """For tests: another place than Discord's own, named by the environment."""
    if os.environ.get(API):
        Route.BASE = os.environ[API]
    if os.environ.get(GATEWAY):
        DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(os.environ[GATEWAY])


class Client(discord.Client):
    """Hears for a `Hearing`; without one it only speaks."""

    def __init__(self, *, message_content: bool = True) -> None:
        intents = discord.Intents.default()
        intents.message_content = message_content
        super().__init__(
            intents=intents,
            allowed_mentions=discord.AllowedMentions.none(),
            max_ratelimit_timeout=LONGEST_LIMIT,
            max_messages=None,
        )
        self.hearing: Hearing | None = None
        self.when_ready: Callable[[], None] = lambda: None

    async def on_ready(self) -> None:
        """At the start, and after a session that could not be resumed."""
        self.when_ready()
        if self.hearing is not None:
            await self.hearing.catch_up()

    async def on_message(self, message: discord.Message) -> None:
        """Somebody wrote."""
        if self.hearing is not None:
            self.hearing.hear(message)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        """Somebody changed what they wrote; the event of an embed alone carries no text of theirs."""
        if self.hearing is not None and payload.message.edited_at is not None:
            self.hearing.edited(payload.message)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        """A message was deleted."""
        if self.hearing is not None:
            self.hearing.deleted(payload.channel_id, payload.message_id)

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        """Many messages of one channel were deleted at once."""
        if self.hearing is not None:
            self.hearing.deleted(payload.channel_id, *payload.message_ids)
