"""Turns what is heard on Discord into turns: one channel's in order, channels side by side (TURN-12, DIS-03).

Owns what waits, and how far each channel was heard. Walks nothing itself, and refuses nobody: the desk does.
Invariants: every way out of a turn frees its lane and ends its typing; a channel's cursor passes a message only after
that message, and every one before it, has its turn.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import discord
from attrs import define, field

from phasewalk.machine.reasons import Reason
from phasewalk.machine.text import told
from phasewalk.machine.trigger import Trigger
from phasewalk.surfaces.discord.heard import DIRECT, ignored_reason, text_of, trigger_of
from phasewalk.surfaces.discord.posting import BROKEN
from phasewalk.surfaces.sections import DiscordSection
from phasewalk.surfaces.signals import Stopping
from phasewalk.surfaces.wiring import Application

TYPED_EVERY = 8.0
"""Seconds; Discord shows typing for ten."""

FETCHED_AGAIN = 10.0
"""Seconds after which a message is fetched again for which no turn could be opened."""

InGuild = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
Heard = InGuild | discord.DMChannel | discord.GroupChannel | discord.PartialMessageable


@define
class _Lane:
    """One channel: `turn` is held by whoever's turn it is.

    `waiting` are messages without an end, as they stand; `heard` says in order of all that came whether it has one.
    `behind` is there while what was missed is caught up with: what comes in meanwhile, which then follows; `missed`
    says that there may be more to fetch. Where not all that was missed could be fetched, the cursor goes to the id
    `until` and no further.
    """

    turn: asyncio.Lock = field(factory=asyncio.Lock)
    waiting: dict[int, discord.Message] = field(factory=dict)
    heard: dict[int, bool] = field(factory=dict)
    behind: deque[discord.Message] | None = None
    missed: bool = False
    until: int | None = None


class Hearing:
    """What a client hears, walked by an application."""

    def __init__(
        self,
        app: Application,
        client: discord.Client,
        stopping: Stopping,
        section: DiscordSection,
        say: Callable[[str], None],
    ) -> None:
        """`say` tells the operator."""
        self._app = app
        self._client = client
        self._stopping = stopping
        self._hear_bots = section.hear_bots
        self._limit = section.catch_up
        self._drops_gone = section.when_gone == "silent"
        self._say = say
        self._began = discord.utils.time_snowflake(datetime.now(UTC))
        self._lanes: dict[int, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def hear(self, message: discord.Message) -> None:
        """A message came in."""
        lane = self._lane(message.channel.id)
        if message.id in lane.waiting:
            return
        lane.waiting[message.id] = message
        lane.heard[message.id] = False
        if lane.behind is not None:
            lane.behind.append(message)
        else:
            self._begin(self._message(message, lane))

    def edited(self, message: discord.Message) -> None:
        """A message was edited: where it still waits it is answered as it stands now (DIS-01)."""
        lane = self._lane(message.channel.id)
        if message.id in lane.waiting:
            lane.waiting[message.id] = message
        if ignored_reason(message, self._client.user, self._hear_bots) is None:
            text = text_of(message, self._client.user)
            self._begin(self._app.retelling.edited(str(message.channel.id), str(message.id), text))

    def deleted(self, channel_id: int, *message_ids: int) -> None:
        """Messages were deleted: no prompt repeats them; whether one that waits is answered, the operator says."""
        lane = self._lane(channel_id)
        for number in message_ids:
            if self._drops_gone:
                lane.waiting.pop(number, None)
            self._begin(self._app.retelling.deleted(str(channel_id), str(number)))

    @asynccontextmanager
    async def turn_in(self, channel_id: str) -> AsyncIterator[None]:
        """Within this block it is the caller's turn in a channel, in order with what is heard there (TURN-12)."""
        async with self._lane(int(channel_id)).turn, self._app.desk.slot():
            yield

    async def catch_up(self) -> None:
        """Fetch what every channel has missed, oldest first; what comes in meanwhile waits behind it."""
        for channel in self._channels():
            self._catch_up_soon(channel)

    async def drain(self) -> None:
        """Until nothing is at work; nothing new begins once the process is asked to stop."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._say(told(f"what was heard could not be dealt with: {type(error).__name__}: {error}"))

    def _lane(self, channel_id: int) -> _Lane:
        return self._lanes.setdefault(channel_id, _Lane())

    def _catch_up_soon(self, channel: Heard) -> None:
        lane = self._lane(channel.id)
        lane.missed = True
        if lane.behind is None and not self._stopping:
            lane.behind = deque()
            self._begin(self._catch_up(channel, lane))

    def _channels(self) -> list[Heard]:
        """Where the bot can read what it missed: channels of servers, and the direct ones that it knows."""
        found: list[Heard] = [self._client.get_partial_messageable(int(one)) for one in self._app.cursors.direct()]
        for guild in self._client.guilds:
            places: list[InGuild] = [*guild.text_channels, *guild.voice_channels, *guild.stage_channels]
            for channel in [*places, *guild.threads]:
                allowed = channel.permissions_for(guild.me)
                if allowed.view_channel and allowed.read_message_history:
                    found.append(channel)
        return found

    async def _catch_up(self, channel: Heard, lane: _Lane) -> None:
        """One channel's; its lane is held meanwhile, and nobody behind it is refused for the wait."""
        async with lane.turn:
            try:
                while lane.missed and not self._stopping:
                    lane.missed = False
                    await self._fetch(channel, lane)
                    while lane.behind and not lane.missed and not self._stopping:
                        following = lane.behind.popleft()
                        async with self._app.desk.slot():
                            await self._heard(following, lane)
            finally:
                lane.behind = None

    async def _fetch(self, channel: Heard, lane: _Lane) -> None:
        """Put what was missed where it belongs between what waits already."""
        try:
            found = await self._missed(channel, lane)
        except (discord.DiscordException, *BROKEN) as error:
            lane.until = 0
            found = []
            self._say(f"{_name(channel)} could not catch up ({type(error).__name__}); it will at the next start")
        new = {one.id: one for one in found if one.id not in lane.waiting}
        lane.waiting |= new
        lane.heard = dict(sorted({**lane.heard, **dict.fromkeys(new, False)}.items()))
        lane.behind = deque(sorted([*new.values(), *(lane.behind or ())], key=lambda one: one.id))

    async def _missed(self, channel: Heard, lane: _Lane) -> list[discord.Message]:
        """What stands behind the channel's cursor; a channel that has none begins when this process did."""
        cursor = self._app.cursors.of(str(channel.id))
        if cursor is None:
            cursor = str(self._began)
            await self._advance(channel, cursor)
        after = discord.Object(int(cursor))
        limit = self._limit
        found = [message async for message in channel.history(limit=limit + 1, after=after, oldest_first=True)]
        lane.until = None
        if len(found) > limit:
            found = found[:limit]
            lane.until = found[-1].id if found else int(cursor)
            self._say(f"{_name(channel)} missed more than {limit} messages; the rest waits for the next start")
        return found

    async def _message(self, message: discord.Message, lane: _Lane) -> None:
        """One that came in by itself: in its place, or refused at once."""
        if self._ignored(message) is not None:
            await self._heard(message, lane)
            return
        async with self._app.desk.place(trigger_of(message, self._client.user), lane.turn):
            if not self._stopping:
                await self._heard(message, lane)

    def _ignored(self, message: discord.Message) -> Reason | None:
        return ignored_reason(message, self._client.user, self._hear_bots)

    async def _heard(self, message: discord.Message, lane: _Lane) -> None:
        """Walk its turn, as it stands by now, and move the cursor behind what has its end."""
        now = lane.waiting.get(message.id)
        try:
            settled = now is None or await self._settled(now)
        finally:
            lane.waiting.pop(message.id, None)
        if not settled:  # the cursor stays before it
            asyncio.get_running_loop().call_later(FETCHED_AGAIN, self._catch_up_soon, message.channel)
            return
        lane.heard[message.id] = True
        passed = None
        while lane.heard and lane.heard[first := next(iter(lane.heard))]:
            del lane.heard[first]
            if lane.until is None or first <= lane.until:
                passed = first
        if passed is not None:
            await self._advance(message.channel, str(passed))

    async def _settled(self, message: discord.Message) -> bool:
        """Whether it has its turn now, or is counted as one that opens none."""
        reason = self._ignored(message)
        if reason is None:
            return await self._turn(trigger_of(message, self._client.user), message.channel)
        await self._app.log.count_ignored(str(message.channel.id), reason)
        return True

    async def _turn(self, trigger: Trigger, channel: discord.abc.Messageable) -> bool:
        """Walk it; whether the log holds it."""
        async with _typing(channel, shown=trigger.addressed is not None):
            ended = await self._app.run(trigger)
        if ended.log_lost:
            self._say(f"{ended.problem}; the turn is settled when the log can be written again")
        elif not ended.known and not self._stopping:
            await self._app.sum_up(trigger.channel_id, trigger.channel_name)
        return not ended.log_lost

    async def _advance(self, channel: object, message_id: str) -> None:
        guild = getattr(channel, "guild", None)
        await self._app.cursors.advance(
            str(getattr(channel, "id", "")),
            str(guild.id) if guild is not None else "",
            getattr(channel, "name", None) or "",
            message_id,
        )


def _name(channel: Heard) -> str:
    name = getattr(channel, "name", None)
    return f"#{name}" if name else f"the {DIRECT} {channel.id}"


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
