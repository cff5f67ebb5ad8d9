"""Turns what is heard on Discord into turns: one channel's in order, channels side by side (TURN-12, DIS-03).

Owns the lanes, and how far each channel was heard. Walks nothing itself. Invariants: every way out of a turn frees
its lane and ends its typing; a channel's cursor passes a message only after that message has its turn.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import discord
from attrs import define, field

from phasewalk.machine.trigger import Trigger
from phasewalk.surfaces.discord.heard import ignored_reason, trigger_of
from phasewalk.surfaces.discord.posting import BROKEN
from phasewalk.surfaces.signals import Stopping
from phasewalk.surfaces.wiring import Application

TYPED_EVERY = 8.0
"""Seconds; Discord shows typing for ten."""

Heard = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread


@define
class _Place:
    """A place in a lane that somebody else uses when it comes."""

    reached: asyncio.Event = field(factory=asyncio.Event)
    left: asyncio.Event = field(factory=asyncio.Event)


@define
class _Lane:
    """What waits in one channel; `held` while what was missed there is still being fetched.

    Where not all that was missed could be fetched, the cursor goes to the id `until` and no further.
    """

    waiting: deque[discord.Message | _Place] = field(factory=deque)
    held: bool = False
    until: int | None = None
    task: asyncio.Task[None] | None = None


class Hearing:
    """What a client hears, walked by an application."""

    def __init__(
        self,
        app: Application,
        client: discord.Client,
        stopping: Stopping,
        *,
        hear_bots: Collection[str] = (),
        catch_up: int = 500,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`catch_up` is how many missed messages a channel catches up with at a time; `say` tells the operator."""
        self._app = app
        self._client = client
        self._stopping = stopping
        self._hear_bots = hear_bots
        self._limit = catch_up
        self._say = say
        self._lanes: dict[int, _Lane] = {}

    def hear(self, message: discord.Message) -> None:
        """A message came in."""
        lane = self._lane(message.channel.id)
        lane.waiting.append(message)
        self._start(message.channel.id, lane)

    def edited(self, message: discord.Message) -> None:
        """A message was edited; where it still waits it is answered as it stands now (DIS-01)."""
        lane = self._lanes.get(message.channel.id)
        if lane is not None:
            same = (message if not isinstance(one, _Place) and one.id == message.id else one for one in lane.waiting)
            lane.waiting = deque(same)

    @asynccontextmanager
    async def turn_in(self, channel_id: str) -> AsyncIterator[None]:
        """Within this block it is the caller's turn in a channel, in order with what is heard there (TURN-12)."""
        place, lane = _Place(), self._lane(int(channel_id))
        lane.waiting.append(place)
        self._start(int(channel_id), lane)
        try:
            await place.reached.wait()
            yield
        finally:
            place.left.set()

    async def catch_up(self) -> None:
        """Fetch what every channel has missed, oldest first; what comes in meanwhile waits behind it."""
        channels = self._channels()
        for channel in channels:
            self._lane(channel.id).held = True
        await asyncio.gather(*(self._fetch(channel) for channel in channels))

    async def drain(self) -> None:
        """Until no lane is at work; nothing new begins once the process is asked to stop."""
        while running := [lane.task for lane in self._lanes.values() if lane.task is not None]:
            await asyncio.gather(*running)

    def _lane(self, channel_id: int) -> _Lane:
        return self._lanes.setdefault(channel_id, _Lane())

    def _channels(self) -> list[Heard]:
        """Where the bot can read what it missed."""
        found: list[Heard] = []
        for guild in self._client.guilds:
            places: list[Heard] = [*guild.text_channels, *guild.voice_channels, *guild.stage_channels]
            for channel in [*places, *guild.threads]:
                allowed = channel.permissions_for(guild.me)
                if allowed.view_channel and allowed.read_message_history:
                    found.append(channel)
        return found

    async def _fetch(self, channel: Heard) -> None:
        lane = self._lane(channel.id)
        try:
            missed = await self._missed(channel, lane)
        except (discord.DiscordException, *BROKEN) as error:
            lane.until = 0
            missed = []
            self._say(f"#{channel.name} could not catch up ({type(error).__name__}); it will at the next start")
        finally:
            lane.held = False
        lane.waiting.extendleft(reversed(missed))
        self._start(channel.id, lane)

    async def _missed(self, channel: Heard, lane: _Lane) -> list[discord.Message]:
        """What stands behind the channel's cursor; a channel that has none begins now."""
        cursor = self._app.cursors.of(str(channel.id))
        if cursor is None:
            now = discord.utils.time_snowflake(datetime.now(UTC))
            await self._advance(channel, str(now))
            return []
        after = discord.Object(int(cursor))
        limit = self._limit
        found = [message async for message in channel.history(limit=limit + 1, after=after, oldest_first=True)]
        lane.until = None
        if len(found) > limit:
            found = found[:limit]
            lane.until = found[-1].id if found else int(cursor)
            self._say(f"#{channel.name} missed more than {limit} messages; the rest waits for the next start")
        return found

    def _start(self, channel_id: int, lane: _Lane) -> None:
        if lane.task is None and not lane.held and lane.waiting:
            lane.task = asyncio.create_task(self._work(lane), name=f"lane {channel_id}")

    async def _work(self, lane: _Lane) -> None:
        try:
            while lane.waiting and not lane.held and not self._stopping:
                following = lane.waiting.popleft()
                if isinstance(following, _Place):
                    following.reached.set()
                    await following.left.wait()
                else:
                    await self._message(following, lane)
        finally:
            lane.task = None

    async def _message(self, message: discord.Message, lane: _Lane) -> None:
        reason = ignored_reason(message, self._client.user, self._hear_bots)
        if reason is None:
            await self._turn(trigger_of(message, self._client.user), message.channel)
        else:
            await self._app.log.count_ignored(str(message.channel.id), reason)
        if lane.until is None or message.id <= lane.until:
            await self._advance(message.channel, str(message.id))

    async def _turn(self, trigger: Trigger, channel: discord.abc.Messageable) -> None:
        async with _typing(channel, shown=trigger.addressed is not None):
            ended = await self._app.run(trigger)
        if ended.log_lost:
            self._say(f"{ended.problem}; the turn is settled when the log can be written again")
        elif not ended.known and not self._stopping:
            await self._app.sum_up(trigger.channel_id, trigger.channel_name)

    async def _advance(self, channel: object, message_id: str) -> None:
        guild = getattr(channel, "guild", None)
        await self._app.cursors.advance(
            str(getattr(channel, "id", "")),
            str(guild.id) if guild is not None else "",
            getattr(channel, "name", None) or "",
            message_id,
        )


@asynccontextmanager
async def _typing(channel: discord.abc.Messageable, *, shown: bool) -> AsyncIterator[None]:
    """Within this block typing is shown (DIS-06)."""
    task = asyncio.create_task(_type(channel)) if shown else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()


async def _type(channel: discord.abc.Messageable) -> None:
    with suppress(discord.DiscordException, *BROKEN):
        while True:
            await channel.typing()
            await asyncio.sleep(TYPED_EVERY)
