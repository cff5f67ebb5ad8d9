"""The endpoints about guilds: channels, threads, roles, members, bans, time-outs, the audit log.

Owns who may be acted on. Knows no socket. Invariant: nobody acts on the owner or on somebody at least as high.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from phasewalk.surfaces.discord_testing import payloads, payloads_guild
from phasewalk.surfaces.discord_testing.calls import ApiError, Call, Routes, bad_field, missing
from phasewalk.surfaces.discord_testing.permissions import Permission, granted, outranks
from phasewalk.surfaces.discord_testing.policing import ROLE_UPDATE
from phasewalk.surfaces.discord_testing.values import Guild, Json, Member, User

LONGEST_TIME_OUT = 28 * 24 * 3600
LONGEST_SWEEP = 7 * 24 * 3600
DAY = 24 * 3600


def guild(call: Call) -> Json:
    """`GET /guilds/{guild}`."""
    home = call.guild()
    counts = {"approximate_member_count": len(home.members), "approximate_presence_count": len(home.members)}
    return {**payloads_guild.guild_json(home), **counts}


def channels(call: Call) -> list[Json]:
    """`GET /guilds/{guild}/channels`."""
    return [payloads.channel_json(each) for each in call.guild().channels.values() if not each.is_thread]


def roles(call: Call) -> list[Json]:
    """`GET /guilds/{guild}/roles`."""
    return [payloads.role_json(role) for role in call.guild().roles.values()]


def members(call: Call) -> list[Json]:
    """`GET /guilds/{guild}/members`: by id, after an id; it needs the privileged intent."""
    home = call.guild()
    if "members" not in call.world.privileged:
        raise ApiError(403, 50001, "Missing Access")
    after = int(call.query.get("after", "0"))
    later = sorted(number for number in home.members if number > after)
    return [payloads.member_json(home.members[number]) for number in later[: call.limit(most=1000, otherwise=1)]]


def member(call: Call) -> Json:
    """`GET /guilds/{guild}/members/{user}`."""
    return payloads.member_json(_member(call, call.guild()))


def change_member(call: Call) -> Json:
    """`PATCH /guilds/{guild}/members/{user}`: time-out, nickname, roles."""
    home = call.guild()
    changed = _member(call, home)
    if "communication_disabled_until" in call.body:
        _time_out(call, home, changed)
    if "nick" in call.body:
        if changed.user is not call.world.bot:
            _subject(call, home, changed.user, Permission.MANAGE_NICKNAMES)
        changes = [{"key": "nick", "old_value": changed.nick, "new_value": call.body["nick"]}]
        changed.nick = call.body["nick"] or None
        call.world.changed(changed, call.world.bot, changes, reason=call.reason, guild=home)
    if "roles" in call.body:
        _subject(call, home, changed.user, Permission.MANAGE_ROLES)
        _give(call, home, changed, {int(number) for number in call.body["roles"]})
    return payloads.member_json(changed)


def give_role(call: Call) -> None:
    """`PUT /guilds/{guild}/members/{user}/roles/{role}`."""
    home = call.guild()
    call.need(Permission.MANAGE_ROLES, home)
    changed = _member(call, home)
    _give(call, home, changed, changed.roles | {call.number("role")})


def take_role(call: Call) -> None:
    """`DELETE /guilds/{guild}/members/{user}/roles/{role}`."""
    home = call.guild()
    call.need(Permission.MANAGE_ROLES, home)
    changed = _member(call, home)
    _give(call, home, changed, changed.roles - {call.number("role")})


def kick(call: Call) -> None:
    """`DELETE /guilds/{guild}/members/{user}`."""
    home = call.guild()
    out = _member(call, home).user
    _subject(call, home, out, Permission.KICK_MEMBERS)
    call.world.kick(out, call.world.bot, reason=call.reason, guild=home)


def ban(call: Call) -> None:
    """`PUT /guilds/{guild}/bans/{user}`; a user need not be a member."""
    home, out = call.guild(), call.user()
    _subject(call, home, out, Permission.BAN_MEMBERS)
    seconds = _sweep_seconds({**call.query, **(call.body or {})})
    call.world.ban(out, call.world.bot, reason=call.reason, delete_message_seconds=seconds, guild=home)


def bulk_ban(call: Call) -> Json:
    """`POST /guilds/{guild}/bulk-ban`: whoever cannot be banned is named, the others are banned."""
    home = call.guild()
    call.need(Permission.BAN_MEMBERS, home)
    seconds, bot = _sweep_seconds(call.body), home.members[call.world.bot.id]
    banned: list[str] = []
    failed: list[str] = []
    for given in call.body["user_ids"]:
        out = call.world.users.get(int(given))
        possible = out is not None and out.id not in home.bans and outranks(home, bot, home.members.get(out.id))
        (banned if possible else failed).append(str(given))
        if out is not None and possible:
            call.world.ban(out, bot, reason=call.reason, delete_message_seconds=seconds, guild=home)
    if not banned:
        raise ApiError(500, 500000, "Failed to ban users")
    return {"banned_users": banned, "failed_users": failed}


def unban(call: Call) -> None:
    """`DELETE /guilds/{guild}/bans/{user}`."""
    home, back = call.guild(), call.user()
    call.need(Permission.BAN_MEMBERS, home)
    if back.id not in home.bans:
        raise missing(10026, "Ban")
    call.world.unban(back, call.world.bot, reason=call.reason, guild=home)


def bans(call: Call) -> list[Json]:
    """`GET /guilds/{guild}/bans`."""
    home = call.guild()
    call.need(Permission.BAN_MEMBERS, home)
    after, most = int(call.query.get("after", "0")), call.limit(most=1000, otherwise=1000)
    return [payloads_guild.ban_json(home.bans[number]) for number in sorted(home.bans) if number > after][:most]


def one_ban(call: Call) -> Json:
    """`GET /guilds/{guild}/bans/{user}`."""
    home, out = call.guild(), call.user()
    call.need(Permission.BAN_MEMBERS, home)
    if out.id not in home.bans:
        raise missing(10026, "Ban")
    return payloads_guild.ban_json(home.bans[out.id])


def audit_log(call: Call) -> Json:
    """`GET /guilds/{guild}/audit-logs`: newest first, or oldest first with `after`."""
    home = call.guild()
    call.need(Permission.VIEW_AUDIT_LOG, home)
    query, most = call.query, call.limit(most=100, otherwise=50)
    found = [
        entry
        for entry in home.audit
        if query.get("user_id", str(entry.by.id)) == str(entry.by.id)
        and query.get("action_type", str(entry.action)) == str(entry.action)
        and int(query.get("after", "0")) < entry.id < int(query.get("before", str(1 << 63)))
    ]
    page = found[:most] if "after" in query else found[::-1][:most]
    named = {number for entry in page for number in (entry.by.id, entry.target) if number in call.world.users}
    return {
        "audit_log_entries": [payloads_guild.audit_json(entry) for entry in page],
        "users": [payloads.user_json(call.world.users[number]) for number in sorted(named)],
        **{
            kind: []
            for kind in ("application_commands", "auto_moderation_rules", "integrations", "threads", "webhooks")
        },
    }


def _member(call: Call, home: Guild) -> Member:
    found = home.members.get(call.user().id)
    if found is None:
        raise missing(10007, "Member")
    return found


def _subject(call: Call, home: Guild, user: User, permission: Permission) -> None:
    """Refuse unless the bot has the permission and stands above the user; itself is never above itself."""
    call.need(permission, home)
    if not outranks(home, home.members[call.world.bot.id], home.members.get(user.id)):
        raise ApiError(403, 50013, "Missing Permissions")


def _time_out(call: Call, home: Guild, target: Member) -> None:
    _subject(call, home, target.user, Permission.MODERATE_MEMBERS)
    now, given = call.world.clock(), call.body["communication_disabled_until"]
    until = None if given is None else datetime.fromisoformat(given).timestamp()
    if until is not None and Permission.ADMINISTRATOR in granted(home, target):
        raise ApiError(403, 50013, "Missing Permissions")
    if until is not None and until > now + LONGEST_TIME_OUT:
        text = "Communication disabled until must be within 28 days."
        raise bad_field("communication_disabled_until", "COMMUNICATION_DISABLED_TOO_LONG", text)
    call.world.time_out(target, call.world.bot, until=until, reason=call.reason, guild=home)


def _give(call: Call, home: Guild, target: Member, wanted: set[int]) -> None:
    if not wanted <= set(home.roles):
        raise missing(10011, "Role")
    changed, target.roles = target.roles ^ wanted, wanted
    call.world.changed(target, call.world.bot, [], reason=call.reason, guild=home)
    for number in sorted(changed):
        key = "$add" if number in wanted else "$remove"
        change = {"key": key, "new_value": [{"id": str(number), "name": home.roles[number].name}]}
        call.world.note(ROLE_UPDATE, call.world.bot, target.user.id, changes=[change], guild=home)


def _sweep_seconds(given: Mapping[str, Any]) -> int:
    """How far back messages go with a ban; clients give it in the body or in the query."""
    seconds = int(given.get("delete_message_seconds", int(given.get("delete_message_days", 0)) * DAY))
    if not 0 <= seconds <= LONGEST_SWEEP:
        raise bad_field("delete_message_seconds", "NUMBER_TYPE_MAX", f"Must be between 0 and {LONGEST_SWEEP}.")
    return seconds


MEMBER, BAN = "/guilds/{guild}/members/{user}", "/guilds/{guild}/bans/{user}"
ROUTES: Routes = {
    "GET /guilds/{guild}": guild,
    "GET /guilds/{guild}/channels": channels,
    "GET /guilds/{guild}/roles": roles,
    "GET /guilds/{guild}/members": members,
    f"GET {MEMBER}": member,
    f"PATCH {MEMBER}": change_member,
    f"DELETE {MEMBER}": kick,
    f"PUT {MEMBER}/roles/{{role}}": give_role,
    f"DELETE {MEMBER}/roles/{{role}}": take_role,
    "GET /guilds/{guild}/bans": bans,
    f"GET {BAN}": one_ban,
    f"PUT {BAN}": ban,
    f"DELETE {BAN}": unban,
    "POST /guilds/{guild}/bulk-ban": bulk_ban,
    "GET /guilds/{guild}/audit-logs": audit_log,
}
