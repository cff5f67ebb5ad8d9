"""Speaks on Discord: each part once, with its idempotency key as nonce, and what was never answered is looked up.

Owns what is done where the connection broke, and where a speech goes. Needs a client that is logged in; connected to
the gateway it need not be. Invariant: a message whose fate is unknown is sent again only under its nonce while that
is remembered, or when it is certain that it is not there (TURN-14).
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import discord
from attrs import evolve

from phasewalk.machine.deadlines import Clock
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.ports import Sight
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Speech
from phasewalk.machine.trigger import Trigger, activity_of, kind_of
from phasewalk.surfaces.discord.cap import ReplyCap
from phasewalk.surfaces.discord.heard import KEY, text_of
from phasewalk.surfaces.discord.parts import cut
from phasewalk.surfaces.discord.posting import BROKEN, AskedToWaitError, post, refusals
from phasewalk.surfaces.recovery import ON_DISCORD

REMEMBERED = 60.0
"""Seconds for which a nonce is counted on; Discord remembers one for some minutes."""

BEFORE = timedelta(seconds=5)
"""So much earlier than its intent a message may stand, since clocks differ."""

SEARCHED = 500
"""So many messages are looked at; of what may stand behind them nothing is known."""

AGAIN_AFTER = (0.5, 1.0, 2.0)
"""Seconds before each further try where the connection broke or the server was out of order."""

LONGEST_WAIT, SHORTEST_WAIT = 30.0, 1.0
"""Seconds that a message may be asked to wait in all; each time counts as the shortest at least."""

LOOKED = 5.0
"""Seconds that a look at what is answered may take."""


class DiscordSurface:
    """Implements the machine's `Surface` on Discord."""

    def __init__(self, client: discord.Client, clock: Clock, replies_per_minute: int = 20) -> None:
        self._client = client
        self._clock = clock
        self._cap = ReplyCap(clock, replies_per_minute)

    def parts(self, speech: Speech) -> Sequence[Speech]:
        """Cut as Discord must have it; only the first part is a reply."""
        return [
            evolve(speech, text=text, reply_to="" if number else speech.reply_to)
            for number, text in enumerate(cut(speech.text))
        ]

    async def look(self, trigger: Trigger) -> Sight:
        """Fetch the message again; of a follow-up, what its person has said since."""
        if activity := activity_of(trigger):
            return await self._since(trigger, activity)
        if kind_of(trigger.key) != KEY or not trigger.message_id:
            return Sight.AS_IT_WAS
        try:
            async with asyncio.timeout(LOOKED):
                place = self._client.get_partial_messageable(int(trigger.channel_id))
                message = await place.fetch_message(int(trigger.message_id))
        except discord.NotFound:
            return Sight.GONE
        except (discord.DiscordException, *BROKEN):
            return Sight.AS_IT_WAS
        same = message.edited_at is None or text_of(message, self._client.user) == trigger.text
        return Sight.AS_IT_WAS if same else Sight.CHANGED

    async def _since(self, trigger: Trigger, activity: str) -> Sight:
        """Whether the person has written in the channel after the message `activity`."""
        try:
            async with asyncio.timeout(LOOKED):
                place = self._client.get_partial_messageable(int(trigger.channel_id))
                async for message in place.history(
                    limit=SEARCHED, after=discord.Object(int(activity)), oldest_first=True
                ):
                    if str(message.author.id) == trigger.user_id:
                        return Sight.OVERTAKEN
        except (discord.DiscordException, *BROKEN):
            return Sight.AS_IT_WAS
        return Sight.AS_IT_WAS

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:
        """Post it; the receipt is the message's id. Where the connection breaks, again under the same nonce."""
        place = await self._place(speech, trigger)
        if not self._cap.allows(place.id, trigger.key):
            raise DeliveryError(f"{self._cap.most} replies within a minute are enough there", Reason.RATE_LIMITED)
        since_us = self._clock.now_us()
        pauses, patience = list(AGAIN_AFTER), LONGEST_WAIT
        while True:
            try:
                return await post(place, speech, trigger, key)
            except AskedToWaitError as error:
                patience -= max(error.seconds, SHORTEST_WAIT)
                if patience < 0:
                    raise
                await asyncio.sleep(error.seconds)
            except BROKEN as error:
                if pauses:
                    await asyncio.sleep(pauses.pop(0))
                    continue
                found = await self._found(place, speech, since_us)
                if found is None:
                    raise DeliveryError(f"Discord did not take it ({type(error).__name__})") from error
                return found

    async def settle(self, speech: Speech, trigger: Trigger, key: str, intended_us: int) -> str:
        """Again under the same nonce within a minute; later it is looked for, and posted when it is not there."""
        place = await self._place(speech, trigger)
        pictures = speech.kind == EffectKind.PICTURE
        if not pictures and self._clock.now_us() - intended_us < REMEMBERED * 1e6:
            return await self.send(speech, trigger, key)
        found = await self._found(place, speech, intended_us)
        if found is not None:
            return found
        if pictures:
            raise DeliveryError("the picture is not there, and it is not made a second time")
        return await self.send(speech, trigger, key)

    async def _found(self, place: discord.PartialMessageable, speech: Speech, intended_us: int) -> str | None:
        """The id of the message where it stands in the channel; None when it certainly does not.

        Raises `DeliveryInDoubtError` when that cannot be found out.
        """
        after = datetime.fromtimestamp(intended_us / 1e6, UTC) - BEFORE
        me = self._client.user
        seen = 0
        try:
            async for message in place.history(limit=SEARCHED + 1, after=after, oldest_first=True):
                seen += 1
                if me is not None and message.author.id == me.id and _same(message, speech):
                    return str(message.id)
        except (discord.DiscordException, *BROKEN) as error:
            raise DeliveryInDoubtError(f"the channel's history cannot be read ({type(error).__name__})") from error
        if seen > SEARCHED:
            raise DeliveryInDoubtError(f"it is not among the {SEARCHED} messages after it was sent, and there are more")
        return None

    async def _place(self, speech: Speech, trigger: Trigger) -> discord.PartialMessageable:
        """Where a speech goes: the trigger's own channel, or the guild's channel of that name."""
        if speech.target == trigger.channel_name:
            return self._client.get_partial_messageable(int(trigger.channel_id))
        channels = await self._channels(trigger.guild_id) if trigger.guild_id else ()
        for channel in channels:
            if speech.target.removeprefix("#") in (channel.name, str(channel.id)):
                return self._client.get_partial_messageable(channel.id)
        raise DeliveryError(f"no channel is called '{speech.target}'", Reason.DELIVERY_TARGET_GONE)

    async def _channels(self, guild_id: str) -> Sequence[discord.abc.GuildChannel]:
        known = self._client.get_guild(int(guild_id))
        if known is not None:
            return known.text_channels
        try:
            with refusals():
                guild = await self._client.fetch_guild(int(guild_id), with_counts=False)
                return await guild.fetch_channels()
        except BROKEN as error:
            raise DeliveryError(f"the server's channels cannot be read ({type(error).__name__})") from error


def on_discord(surface: DiscordSurface) -> Mapping[str, DiscordSurface]:
    """Where turns speak by the kind of their trigger's key."""
    return dict.fromkeys(ON_DISCORD, surface)


def _same(message: discord.Message, speech: Speech) -> bool:
    """Whether this is the message of that speech: what it says, and what it replies to."""
    if speech.kind == EffectKind.PICTURE:
        says = bool(message.attachments)
    else:
        says = message.content.strip() == speech.text.strip()
    answered = message.reference.message_id if message.reference is not None else None
    return says and (answered is None or not speech.reply_to or str(answered) == speech.reply_to)
