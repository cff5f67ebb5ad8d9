"""The things of a Discord: users, roles, members, channels, messages, guilds, and the ids that name them.

Owns their fields. Knows no JSON and no rule of Discord. Invariant: ids grow with time, so that order by id is order
of making.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

from attrs import Factory, define, field, frozen

Json = dict[str, Any]

DISCORD_EPOCH = 1_420_070_400.0
"""The unix time, in seconds, at which ids begin."""


class ChannelKind(IntEnum):
    """The kinds of channel that the fake has."""

    TEXT = 0
    DM = 1
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12


def moment_of(number: int) -> float:
    """The unix time in seconds at which an id was made."""
    return (number >> 22) / 1000 + DISCORD_EPOCH


def written(moment: float) -> str:
    """A unix time in seconds as Discord writes it."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")


@define
class Ids:
    """Hands out ids, each once, each greater than those made before it."""

    clock: Callable[[], float]
    _last: int = 0
    _back: int = 0

    def new(self, at: float | None = None) -> int:
        """An id of now, or of the unix time `at` in seconds."""
        number = int(((self.clock() if at is None else at) - DISCORD_EPOCH) * 1000) << 22
        if at is not None:
            self._back += 1
            return number | self._back & 0x3FFFFF
        self._last = max(number, self._last + 1)
        return self._last


@define(eq=False)
class User:
    """Somebody with an account: a person, a bot, or the author that a webhook shows."""

    id: int
    name: str
    bot: bool = False
    webhook: bool = False
    dms_closed: bool = False


@define(eq=False)
class Role:
    """A role; `permissions` are Discord's bits."""

    id: int
    name: str
    permissions: int
    position: int


@define(eq=False)
class Member:
    """A user in a guild; `timed_out_until` is a unix time in seconds."""

    user: User
    joined: float
    roles: set[int] = field(factory=set)
    nick: str | None = None
    timed_out_until: float | None = None


@define(eq=False)
class Overwrite:
    """What a channel allows and denies one role or member, in bits."""

    allow: int = 0
    deny: int = 0


@define(eq=False)
class Message:
    """A message as it stands; `pings` are the ids it notified, `allowed_mentions` what its sender gave, if anything."""

    id: int
    channel: "Channel"
    author: User
    content: str
    reply_to: int | None = None
    pings: Sequence[int] = ()
    role_pings: Sequence[int] = ()
    everyone: bool = False
    nonce: str | None = None
    allowed_mentions: Mapping[str, Any] | None = None
    edited: float | None = None
    attachments: Sequence[Json] = ()
    embeds: Sequence[Json] = ()
    reactions: dict[str, list[int]] = field(factory=dict)
    flags: int = 0
    thread: "Channel | None" = None


@define(eq=False)
class Channel:
    """A channel, thread or direct conversation; `guild` and `parent` are None where there is none."""

    id: int
    name: str
    kind: ChannelKind
    guild: "Guild | None" = None
    parent: "Channel | None" = None
    recipient: User | None = None
    owner: int | None = None
    overwrites: dict[int, Overwrite] = field(factory=dict)
    messages: dict[int, Message] = field(factory=dict)
    archived: bool = False
    locked: bool = False

    @property
    def is_thread(self) -> bool:
        """Whether it hangs below another channel."""
        return self.kind in (ChannelKind.PUBLIC_THREAD, ChannelKind.PRIVATE_THREAD)


@frozen(eq=False)
class Ban:
    """A ban as it was asked for; `delete_message_seconds` says how far back messages went with it."""

    user: User
    by: User
    reason: str | None
    delete_message_seconds: int


@frozen(eq=False)
class AuditEntry:
    """A line of a guild's audit log; `action` is Discord's number."""

    id: int
    action: int
    by: User
    target: int | None
    reason: str | None = None
    changes: Sequence[Json] = ()
    options: Mapping[str, str] = Factory(dict)


@define(eq=False)
class Guild:
    """A server with everything in it; the role named like the guild's id is everyone's."""

    id: int
    name: str
    owner: User
    roles: dict[int, Role] = field(factory=dict)
    members: dict[int, Member] = field(factory=dict)
    channels: dict[int, Channel] = field(factory=dict)
    bans: dict[int, Ban] = field(factory=dict)
    audit: list[AuditEntry] = field(factory=list)


@frozen(eq=False)
class Typing:
    """The bot showed that it types, at a unix time in seconds."""

    channel: Channel
    at: float


@frozen
class Event:
    """A dispatch: its name and data, any one of the intents it `needs` (bits; 0 is for everyone), where it happened."""

    name: str
    data: Json
    needs: int = 0
    channel: Channel | None = None
