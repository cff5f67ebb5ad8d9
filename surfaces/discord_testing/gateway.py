"""The gateway: who is connected, in which session, what it was told, and how it is disturbed on purpose.

Owns sessions and their events. Knows the world only through its events. Invariant: a session keeps each of its events
with its number, so that whoever resumes gets what it missed, in order, and nothing twice.
"""

import asyncio
import secrets
import time
from typing import Any

from aiohttp import web

from phasewalk.surfaces.discord_testing import payloads, payloads_guild
from phasewalk.surfaces.discord_testing.bell import Bell
from phasewalk.surfaces.discord_testing.gateway_link import (
    ACK,
    HEARTBEAT,
    IDENTIFY,
    INVALID,
    RECONNECT,
    REQUEST_MEMBERS,
    RESUME,
    Link,
)
from phasewalk.surfaces.discord_testing.gateway_session import Heartbeat, Session
from phasewalk.surfaces.discord_testing.rest_account import application_flags
from phasewalk.surfaces.discord_testing.values import Event, Json
from phasewalk.surfaces.discord_testing.world import PRIVILEGED, World

GUILDS = 1 << 0
HEARD = (3, 4)
"""Presence and voice state: heard, and nothing comes of them."""

MESSAGES = ("MESSAGE_CREATE", "MESSAGE_UPDATE")
UNKNOWN_OPERATION, UNREADABLE, NOT_AUTHENTICATED = 4001, 4002, 4003
BAD_TOKEN, TWICE, DISALLOWED_INTENTS = 4004, 4005, 4014
ENDING = {1000, 1001, 4004, 4007, 4009, 4010, 4011, 4012, 4013, 4014}
"""Close codes after which a session cannot be resumed."""


class Gateway:
    """Sessions over websockets. `interval` is the heartbeat's, in seconds; `url` is where resuming leads."""

    def __init__(self, world: World, bell: Bell, interval: float = 41.25) -> None:
        self.interval = interval
        self.url = ""
        self.acknowledges = True
        self.refuses_resumes = False
        self.identified: list[Json] = []
        self.resumed: list[Json] = []
        self.received: list[Json] = []
        self.heartbeats: list[Heartbeat] = []
        self.sessions: dict[str, Session] = {}
        self._world = world
        self._bell = bell
        self._late = 0.0
        self._links: list[Link] = []
        self._refusals: list[int] = []
        world.listeners.append(self._told)

    @property
    def connected(self) -> list[Session]:
        """The sessions that a client holds now."""
        return [session for session in self.sessions.values() if session.link is not None]

    async def ready(self, times: int = 1, seconds: float = 10.0) -> Session:
        """Wait until a client is connected and has identified or resumed so often; its session."""
        greeted = lambda: self.connected if len(self.identified) + len(self.resumed) >= times else []  # noqa: E731
        return (await self._bell.until(greeted, seconds))[0]

    def reconnect(self) -> None:
        """Ask every client to come back."""
        for session in self.connected:
            if session.link is not None:
                session.link.send(RECONNECT, None)

    def invalidate(self, *, resumable: bool = False) -> None:
        """Declare every session invalid; only a resumable one is kept."""
        for session in self.connected:
            if session.link is not None:
                session.link.send(INVALID, resumable)
            if not resumable:
                self._end(session)

    def close(self, code: int) -> None:
        """Close every connection with a code; some codes end the session."""
        for link in self._links:
            link.close(code)

    def drop(self) -> None:
        """Break every connection without a word."""
        for link in self._links:
            link.drop()

    def refuse(self, code: int, times: int = 1) -> None:
        """Close the next connections with a code instead of accepting their IDENTIFY."""
        self._refusals += [code] * times

    def again(self, name: str) -> None:
        """Dispatch the last event of a name once more, under a new number."""
        for session in self.sessions.values():
            told = [data for known, data in session.told if known == name]
            if not told:
                raise LookupError(f"no {name} was dispatched yet; there was: {sorted({n for n, _ in session.told})}")
            session.tell(name, told[-1])

    def late_by(self) -> float:
        """By how many seconds the latest heartbeat was too late, one that is due now included; 0 is punctual."""
        now = time.monotonic()
        return max([self._late, *(link.overdue(now) for link in self._links)])

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Talk with one client until it has gone."""
        link = Link(request, self.interval)
        response = await link.open()
        writing = asyncio.create_task(link.write())
        self._links.append(link)
        try:
            while await self._one(link):
                self._bell.ring()
        finally:
            writing.cancel()
            self._links.remove(link)
            self._left(link)
            self._bell.ring()
        return response

    async def _one(self, link: Link) -> bool:
        """Take one frame of the client; False when it has gone."""
        try:
            frame = await link.received()
            if frame is not None:
                self._receive(link, frame)
        except (KeyError, TypeError, ValueError, AttributeError):
            link.close(UNREADABLE)
            return True
        return frame is not None

    def _receive(self, link: Link, frame: Json) -> None:
        data: Any = frame.get("d")
        match frame["op"]:
            case operation if operation == HEARTBEAT:
                self._beat(link, data)
            case operation if operation in (IDENTIFY, RESUME) and link.session is not None:
                link.close(TWICE)
            case operation if operation == IDENTIFY:
                self._identify(link, data)
            case operation if operation == RESUME:
                self._resume(link, data)
            case operation if link.session is None:
                link.close(NOT_AUTHENTICATED)
            case operation if operation == REQUEST_MEMBERS:
                self._members(self.sessions[link.session], data)
            case operation if operation in HEARD:
                self.received.append(frame)
            case _:
                link.close(UNKNOWN_OPERATION)

    def _beat(self, link: Link, number: int | None) -> None:
        now = time.monotonic()
        self._late = max(self._late, link.overdue(now))
        link.beaten = now
        self.heartbeats.append(Heartbeat(now, number, link.session))
        if self.acknowledges:
            link.send(ACK, None)

    def _identify(self, link: Link, data: Json) -> None:
        self.identified.append(data)
        switched_on = sum(PRIVILEGED[name] for name in self._world.privileged)
        if self._refusals:
            link.close(self._refusals.pop(0))
        elif data["token"] != self._world.token:
            link.close(BAD_TOKEN)
        elif data["intents"] & sum(PRIVILEGED.values()) & ~switched_on:
            link.close(DISALLOWED_INTENTS)
        else:
            self._begin(link, data["intents"])

    def _begin(self, link: Link, intents: int) -> None:
        world = self._world
        session = Session(secrets.token_hex(16), intents, link)
        self.sessions[session.id] = session
        link.session = session.id
        homes = [guild for guild in world.guilds.values() if world.bot.id in guild.members]
        ready = {
            "v": 10,
            "user": payloads.user_json(world.bot),
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in homes],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.url,
            "private_channels": [],
            "shard": [0, 1],
            "application": {"id": str(world.bot.id), "flags": application_flags(world)},
        }
        session.tell("READY", ready)
        for guild in homes if intents & GUILDS else ():
            own = [guild.members[world.bot.id]]
            members = guild.members.values() if intents & PRIVILEGED["presences"] else own
            channels = [each for each in guild.channels.values() if not each.is_thread or world.sees(each)]
            session.tell("GUILD_CREATE", payloads_guild.guild_event(guild, members, channels))

    def _resume(self, link: Link, data: Json) -> None:
        self.resumed.append(data)
        session = self.sessions.get(data["session_id"])
        if data["token"] != self._world.token:
            link.close(BAD_TOKEN)
        elif session is None or self.refuses_resumes or not 0 <= data["seq"] <= len(session.told):
            link.send(INVALID, False)
        else:
            session.link, link.session = link, session.id
            session.replay(data["seq"])
            session.tell("RESUMED", {})

    def _members(self, session: Session, asked: Json) -> None:
        guild = self._world.guilds[int(asked["guild_id"])]
        wanted = {int(number) for number in asked.get("user_ids") or ()}
        found = [
            member
            for number, member in guild.members.items()
            if (number in wanted if wanted else member.user.name.startswith(asked.get("query") or ""))
        ]
        session.tell(
            "GUILD_MEMBERS_CHUNK",
            {
                "guild_id": str(guild.id),
                "members": [payloads.member_json(member) for member in found[: asked.get("limit") or None]],
                "chunk_index": 0,
                "chunk_count": 1,
                "not_found": [str(number) for number in wanted - set(guild.members)],
                "nonce": asked.get("nonce"),
            },
        )

    def _left(self, link: Link) -> None:
        session = self.sessions.get(link.session or "")
        if session is None or session.link is not link:
            return
        session.link = None
        if link.closed_with in ENDING or (link.closed_with is None and link.close_code in ENDING):
            self._end(session)

    def _end(self, session: Session) -> None:
        self.sessions.pop(session.id, None)

    def _told(self, event: Event) -> None:
        for session in self.sessions.values():
            if not event.needs or event.needs & session.intents:
                session.tell(event.name, self._seen(event, session.intents))
        self._bell.ring()

    def _seen(self, event: Event, intents: int) -> Json:
        hidden = event.name in MESSAGES and "guild_id" in event.data and not intents & PRIVILEGED["message_content"]
        return payloads.blanked(event.data, self._world.bot.id) if hidden else event.data
