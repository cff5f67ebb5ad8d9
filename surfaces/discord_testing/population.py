"""Who and what is there: guilds, channels, people, found by value, id or name.

Owns the lists and the looking-up. Knows no socket: what happens is emitted as events to whoever listens. Invariant:
a name that means nothing, or two things, is refused in a sentence that says what there is.
"""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from phasewalk.surfaces.discord_testing import payloads, payloads_guild
from phasewalk.surfaces.discord_testing.permissions import EVERYTHING, ORDINARY, Permission, granted
from phasewalk.surfaces.discord_testing.values import (
    Channel,
    ChannelKind,
    Event,
    Guild,
    Ids,
    Json,
    Member,
    Message,
    Overwrite,
    Role,
    User,
)

UserKey = User | Member | int | str
ChannelKey = Channel | int | str
MessageKey = Message | int | str
GuildKey = Guild | int | str | None

GUILDS, MEMBERS = 1 << 0, 1 << 1

Named = TypeVar("Named", User, Guild, Channel, Role)


class Population:
    """A bot and what it can see; `clock` gives unix time in seconds."""

    def __init__(self, bot: str = "walker", *, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self.ids = Ids(clock)
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.listeners: list[Callable[[Event], None]] = []
        self.files: dict[str, bytes] = {}
        self.cdn = "https://cdn.example"
        self.bot = self.add_user(bot, bot=True)

    def emit(self, event: Event) -> None:
        """Tell the listeners what happened, unless the bot cannot see the channel where it did."""
        if event.channel is not None and not self.sees(event.channel):
            return
        for listener in self.listeners:
            listener(event)

    def add_user(self, name: str, *, bot: bool = False, webhook: bool = False, dms_closed: bool = False) -> User:
        """Make an account."""
        user = User(self.ids.new(), name, bot, webhook, dms_closed)
        self.users[user.id] = user
        return user

    def add_guild(self, name: str, owner: UserKey, *, bot_permissions: int = EVERYTHING) -> Guild:
        """Make a guild that its owner and the bot belong to; the bot's role has these permissions."""
        number = self.ids.new()
        guild = Guild(number, name, self.user(owner))
        guild.roles[number] = Role(number, "@everyone", ORDINARY, 0)
        self.guilds[number] = guild
        self.add_member(guild.owner, guild=guild)
        self.add_member(self.bot, roles=[self.add_role("bot", bot_permissions, guild=guild, position=50)], guild=guild)
        self.emit(Event("GUILD_CREATE", payloads_guild.guild_event(guild, guild.members.values(), ()), GUILDS))
        return guild

    def add_role(self, name: str, permissions: int = 0, *, position: int = 1, guild: GuildKey = None) -> Role:
        """Make a role; a greater position stands higher."""
        role = Role(self.ids.new(), name, permissions, position)
        home = self.guild(guild)
        home.roles[role.id] = role
        self.emit(Event("GUILD_ROLE_CREATE", {"guild_id": str(home.id), "role": payloads.role_json(role)}, GUILDS))
        return role

    def add_member(self, user: UserKey, roles: Iterable[Role | str] = (), *, guild: GuildKey = None) -> Member:
        """Let a user join; a new name is a new user."""
        home = self.guild(guild)
        known = isinstance(user, User | Member | int) or any(user == each.name for each in self.users.values())
        account = self.user(user) if known else self.add_user(str(user))
        member = Member(account, self.clock(), {self._role(home, role).id for role in roles})
        home.members[account.id] = member
        joined = {**payloads.member_json(member), "guild_id": str(home.id)}
        self.emit(Event("GUILD_MEMBER_ADD", joined, MEMBERS))
        return member

    def add_channel(self, name: str, *, guild: GuildKey = None, hidden_from: Iterable[Role | str] = ()) -> Channel:
        """Make a text channel; roles that it is hidden from (`@everyone` is one) do not see it."""
        home = self.guild(guild)
        hidden = {self._role(home, role).id: Overwrite(deny=Permission.VIEW_CHANNEL) for role in hidden_from}
        channel = Channel(self.ids.new(), name, ChannelKind.TEXT, home, overwrites=hidden)
        self._place(channel, "CHANNEL_CREATE", {})
        return channel

    def overwrite(self, channel: ChannelKey, whom: Role | Member | str, *, allow: int = 0, deny: int = 0) -> None:
        """Allow and deny a role (by value or name) or member permissions in one channel, in place of what was."""
        place = self.channel(channel)
        number = whom.user.id if isinstance(whom, Member) else self._role(self.guild(place.guild), whom).id
        place.overwrites[number] = Overwrite(allow, deny)
        self.emit(Event("CHANNEL_UPDATE", payloads.channel_json(place), GUILDS))

    def add_thread(
        self,
        name: str,
        parent: ChannelKey,
        *,
        owner: UserKey | None = None,
        private: bool = False,
        at: int | None = None,
    ) -> Channel:
        """Make a thread below a channel; `at` is the id of the message that it starts from."""
        above = self.channel(parent)
        kind = ChannelKind.PRIVATE_THREAD if private else ChannelKind.PUBLIC_THREAD
        starter = self.bot if owner is None else self.user(owner)
        thread = Channel(at or self.ids.new(), name, kind, above.guild, above, owner=starter.id)
        if at in above.messages:
            above.messages[at].thread = thread
        self._place(thread, "THREAD_CREATE", {"newly_created": True})
        return thread

    def remove_channel(self, channel: ChannelKey) -> None:
        """Delete a channel or thread with everything in it."""
        gone = self.channel(channel)
        kind = "THREAD" if gone.is_thread else "CHANNEL"
        self.emit(Event(f"{kind}_DELETE", payloads.channel_json(gone), GUILDS))
        del self.channels[gone.id]
        if gone.guild is not None:
            del gone.guild.channels[gone.id]

    def dm(self, user: UserKey) -> Channel:
        """The direct conversation between a user and the bot, made when there is none."""
        other = self.user(user)
        for channel in self.channels.values():
            if channel.recipient is other:
                return channel
        made = Channel(self.ids.new(), f"@{other.name}", ChannelKind.DM, recipient=other)
        self.channels[made.id] = made
        return made

    def user(self, key: UserKey) -> User:
        """Find a user."""
        if isinstance(key, Member):
            return key.user
        return key if isinstance(key, User) else _found("user", key, self.users)

    def member(self, key: UserKey, guild: GuildKey = None) -> Member:
        """Find a member of a guild."""
        home, user = self.guild(guild), self.user(key)
        if user.id not in home.members:
            raise LookupError(f"{user.name} is no member of {home.name}")
        return home.members[user.id]

    def guild(self, key: GuildKey = None) -> Guild:
        """Find a guild; None is the first."""
        if key is None and self.guilds:
            return next(iter(self.guilds.values()))
        return key if isinstance(key, Guild) else _found("guild", key or "of any name", self.guilds)

    def channel(self, key: ChannelKey) -> Channel:
        """Find a channel; `@name` is the direct conversation with a user."""
        if isinstance(key, str) and key.startswith("@"):
            return self.dm(key[1:])
        return key if isinstance(key, Channel) else _found("channel", key, self.channels)

    def message(self, key: MessageKey, channel: ChannelKey | None = None) -> Message:
        """Find a message, in one channel or in all."""
        if isinstance(key, Message):
            return key
        places = self.channels.values() if channel is None else [self.channel(channel)]
        for place in places:
            if int(key) in place.messages:
                return place.messages[int(key)]
        raise LookupError(f"there is no message {key}")

    def allowed(self, user: User, channel: Channel) -> Permission:
        """What a user may do in a channel."""
        if channel.guild is None:
            return EVERYTHING if user in (self.bot, channel.recipient) else Permission(0)
        member = channel.guild.members.get(user.id)
        return Permission(0) if member is None else granted(channel.guild, member, channel, now=self.clock())

    def sees(self, channel: Channel) -> bool:
        """Whether the bot sees a channel."""
        return Permission.VIEW_CHANNEL in self.allowed(self.bot, channel)

    def _place(self, channel: Channel, name: str, further: Json) -> None:
        self.channels[channel.id] = channel
        if channel.guild is not None:
            channel.guild.channels[channel.id] = channel
        self.emit(Event(name, {**payloads.channel_json(channel), **further}, GUILDS))

    def _role(self, guild: Guild, role: Role | str) -> Role:
        return role if isinstance(role, Role) else _found("role", role, guild.roles)


def _found(kind: str, key: int | str, among: dict[int, Named]) -> Named:
    number = int(key) if str(key).isdecimal() else None
    if number in among:
        return among[number]
    named = [each for each in among.values() if each.name == key]
    if len(named) == 1:
        return named[0]
    there = ", ".join(sorted(each.name for each in among.values())) or "none"
    raise LookupError(f"{'no' if not named else 'more than one'} {kind} is called {key}; there is: {there}")
