"""Who may do what where: Discord's permission bits and how roles, overwrites and time-outs add up.

Owns the bits and the sum. Knows no request. Invariant: owner and administrators have every permission; somebody
timed out may only look.
"""

from collections.abc import Iterable
from enum import IntFlag
from functools import reduce
from operator import or_

from phasewalk.surfaces.discord_testing.values import Channel, Guild, Member, Overwrite


class Permission(IntFlag):
    """The permissions that the fake asks for; Discord's own numbers."""

    KICK_MEMBERS = 1 << 1
    BAN_MEMBERS = 1 << 2
    ADMINISTRATOR = 1 << 3
    MANAGE_CHANNELS = 1 << 4
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_AUDIT_LOG = 1 << 7
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    MANAGE_NICKNAMES = 1 << 27
    MANAGE_ROLES = 1 << 28
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38
    MODERATE_MEMBERS = 1 << 40


EVERYTHING = reduce(or_, Permission)
ORDINARY = (
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.ADD_REACTIONS
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
)
MODERATION = (
    Permission.KICK_MEMBERS
    | Permission.BAN_MEMBERS
    | Permission.MODERATE_MEMBERS
    | Permission.MANAGE_MESSAGES
    | Permission.MANAGE_NICKNAMES
    | Permission.MANAGE_THREADS
    | Permission.VIEW_AUDIT_LOG
)
LOOKING = Permission.VIEW_CHANNEL | Permission.READ_MESSAGE_HISTORY


def granted(guild: Guild, member: Member, channel: Channel | None = None, *, now: float = 0.0) -> Permission:
    """What a member may do in a guild or, with a channel, there; `now` is a unix time in seconds."""
    roles = [guild.id, *member.roles]
    base = Permission(reduce(or_, (guild.roles[role].permissions for role in roles if role in guild.roles), 0))
    if member.user is guild.owner or Permission.ADMINISTRATOR in base:
        return EVERYTHING
    place = channel.parent if channel and channel.parent else channel
    if place is not None:
        base = _overwritten(base, place, guild.id, member)
    if member.timed_out_until is not None and member.timed_out_until > now:
        base &= LOOKING
    return base


def outranks(guild: Guild, member: Member, other: Member | None) -> bool:
    """Whether a member's highest role stands above another's; nobody stands above the owner."""
    if other is None or member.user is guild.owner:
        return other is None or other.user is not guild.owner
    return other.user is not guild.owner and _height(guild, member) > _height(guild, other)


def _height(guild: Guild, member: Member) -> int:
    return max((guild.roles[role].position for role in member.roles if role in guild.roles), default=0)


def _overwritten(base: Permission, place: Channel, everyone: int, member: Member) -> Permission:
    base = _applied(base, [place.overwrites.get(everyone)])
    base = _applied(base, [place.overwrites.get(role) for role in member.roles])
    return _applied(base, [place.overwrites.get(member.user.id)])


def _applied(base: Permission, overwrites: Iterable[Overwrite | None]) -> Permission:
    present = [overwrite for overwrite in overwrites if overwrite]
    denied = reduce(or_, (overwrite.deny for overwrite in present), 0)
    allowed = reduce(or_, (overwrite.allow for overwrite in present), 0)
    return Permission((base & ~denied) | allowed)
