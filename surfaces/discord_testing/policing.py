"""What is done to members: bans, kicks, time-outs, and the audit log that remembers it.

Owns the audit log's lines. Knows no request and no permission: whoever acts here may. Invariant: each act leaves one
line in the audit log.
"""

from collections.abc import Iterable, Mapping, Sequence

from phasewalk.surfaces.discord_testing import payloads, payloads_guild
from phasewalk.surfaces.discord_testing.population import GUILDS, MEMBERS, GuildKey, UserKey
from phasewalk.surfaces.discord_testing.talking import Talking
from phasewalk.surfaces.discord_testing.values import AuditEntry, Ban, Event, Guild, Json, User, moment_of, written

MODERATION_INTENT = 1 << 2
KICK, BAN, UNBAN, MEMBER_UPDATE, ROLE_UPDATE, MESSAGE_DELETE, MESSAGE_BULK_DELETE = 20, 22, 23, 24, 25, 72, 73
"""The numbers of Discord's audit log."""


class Policing(Talking):
    """A population that moderates."""

    def ban(
        self,
        user: UserKey,
        by: UserKey,
        *,
        reason: str | None = None,
        delete_message_seconds: int = 0,
        guild: GuildKey = None,
    ) -> Ban:
        """Ban a user, with the messages of the last `delete_message_seconds`; a second ban changes nothing."""
        home, target, who = self.guild(guild), self.user(user), self.user(by)
        if target.id in home.bans:
            return home.bans[target.id]
        ban = home.bans[target.id] = Ban(target, who, reason, delete_message_seconds)
        self._leave(home, target)
        self._sweep(home, target, delete_message_seconds)
        self._tell(home, "GUILD_BAN_ADD", target, MODERATION_INTENT)
        self.note(BAN, who, target.id, reason=reason, guild=home)
        return ban

    def unban(self, user: UserKey, by: UserKey, *, reason: str | None = None, guild: GuildKey = None) -> None:
        """Lift a ban."""
        home, target = self.guild(guild), self.user(user)
        if home.bans.pop(target.id, None) is None:
            raise LookupError(f"{target.name} is not banned from {home.name}")
        self._tell(home, "GUILD_BAN_REMOVE", target, MODERATION_INTENT)
        self.note(UNBAN, self.user(by), target.id, reason=reason, guild=home)

    def kick(self, user: UserKey, by: UserKey, *, reason: str | None = None, guild: GuildKey = None) -> None:
        """Put a member out."""
        home = self.guild(guild)
        target = self.member(user, home).user
        self._leave(home, target)
        self.note(KICK, self.user(by), target.id, reason=reason, guild=home)

    def leave(self, user: UserKey, *, guild: GuildKey = None) -> None:
        """Let a member go by their own will."""
        home = self.guild(guild)
        self._leave(home, self.member(user, home).user)

    def time_out(
        self,
        user: UserKey,
        by: UserKey,
        *,
        until: float | None,
        reason: str | None = None,
        guild: GuildKey = None,
    ) -> None:
        """Silence a member until a unix time in seconds; None ends it."""
        home = self.guild(guild)
        member = self.member(user, home)
        before, member.timed_out_until = member.timed_out_until, until
        change = _change("communication_disabled_until", _instant(before), _instant(until))
        self.changed(user, by, [change], reason=reason, guild=home)

    def changed(
        self, user: UserKey, by: UserKey, changes: Sequence[Json], *, reason: str | None = None, guild: GuildKey = None
    ) -> None:
        """Tell that a member was changed in this way."""
        home = self.guild(guild)
        member = self.member(user, home)
        shown = {**payloads.member_json(member), "guild_id": str(home.id)}
        self.emit(Event("GUILD_MEMBER_UPDATE", shown, MEMBERS))
        self.note(MEMBER_UPDATE, self.user(by), member.user.id, reason=reason, changes=changes, guild=home)

    def note(
        self,
        action: int,
        by: UserKey,
        target: int | None = None,
        *,
        reason: str | None = None,
        changes: Sequence[Json] = (),
        options: Mapping[str, str] | None = None,
        guild: GuildKey = None,
    ) -> AuditEntry:
        """Write a line into the audit log; `action` is Discord's number."""
        home = self.guild(guild)
        entry = AuditEntry(self.ids.new(), action, self.user(by), target, reason, changes, options or {})
        home.audit.append(entry)
        shown = {**payloads_guild.audit_json(entry), "guild_id": str(home.id)}
        self.emit(Event("GUILD_AUDIT_LOG_ENTRY_CREATE", shown, MODERATION_INTENT))
        return entry

    def _leave(self, guild: Guild, user: User) -> None:
        if guild.members.pop(user.id, None) is not None:
            self._tell(guild, "GUILD_MEMBER_REMOVE", user, MEMBERS)
        if user is self.bot:
            self.emit(Event("GUILD_DELETE", {"id": str(guild.id)}, GUILDS))

    def _sweep(self, guild: Guild, user: User, seconds: int) -> None:
        since = self.clock() - seconds
        for channel in guild.channels.values() if seconds else ():
            theirs = [one.id for one in channel.messages.values() if one.author is user]
            self.delete_many(channel, _younger(theirs, since))

    def _tell(self, guild: Guild, name: str, user: User, needs: int) -> None:
        self.emit(Event(name, {"guild_id": str(guild.id), "user": payloads.user_json(user)}, needs))


def _younger(numbers: Iterable[int], since: float) -> list[int]:
    return [number for number in numbers if moment_of(number) >= since]


def _instant(moment: float | None) -> str | None:
    return None if moment is None else written(moment)


def _change(key: str, old: object, new: object) -> Json:
    values = {"old_value": old, "new_value": new}
    return {"key": key, **{name: value for name, value in values.items() if value is not None}}
