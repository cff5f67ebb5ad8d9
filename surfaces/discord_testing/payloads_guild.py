"""The JSON that Discord shows of a guild, its bans and its audit log.

Owns the shapes. Knows no socket. Invariant: as in `payloads`.
"""

from collections.abc import Iterable

from phasewalk.surfaces.discord_testing.payloads import channel_json, member_json, role_json, user_json
from phasewalk.surfaces.discord_testing.values import (
    AuditEntry,
    Ban,
    Channel,
    Guild,
    Json,
    Member,
    moment_of,
    written,
)


def guild_json(guild: Guild) -> Json:
    """A guild with its roles, without its people and channels."""
    return {
        "id": str(guild.id),
        "name": guild.name,
        "owner_id": str(guild.owner.id),
        "icon": None,
        "splash": None,
        "discovery_splash": None,
        "description": None,
        "afk_channel_id": None,
        "afk_timeout": 300,
        "verification_level": 0,
        "default_message_notifications": 0,
        "explicit_content_filter": 0,
        "roles": [role_json(role) for role in guild.roles.values()],
        "emojis": [],
        "stickers": [],
        "features": [],
        "mfa_level": 0,
        "system_channel_id": None,
        "system_channel_flags": 0,
        "rules_channel_id": None,
        "vanity_url_code": None,
        "banner": None,
        "premium_tier": 0,
        "premium_progress_bar_enabled": False,
        "preferred_locale": "en-US",
        "public_updates_channel_id": None,
        "nsfw_level": 0,
    }


def guild_event(guild: Guild, members: Iterable[Member], channels: Iterable[Channel]) -> Json:
    """A guild as the gateway shows it to somebody who sees these members and channels."""
    seen = list(channels)
    return {
        **guild_json(guild),
        "large": False,
        "unavailable": False,
        "member_count": len(guild.members),
        "members": [member_json(member) for member in members],
        "channels": [channel_json(each) for each in seen if not each.is_thread],
        "threads": [channel_json(each) for each in seen if each.is_thread and not each.archived],
        "joined_at": written(moment_of(guild.id)),
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def ban_json(ban: Ban) -> Json:
    """A ban as the list of bans shows it."""
    return {"user": user_json(ban.user), "reason": ban.reason}


def audit_json(entry: AuditEntry) -> Json:
    """A line of the audit log."""
    shown: Json = {
        "id": str(entry.id),
        "action_type": entry.action,
        "user_id": str(entry.by.id),
        "target_id": None if entry.target is None else str(entry.target),
        "changes": list(entry.changes),
    }
    if entry.reason is not None:
        shown["reason"] = entry.reason
    if entry.options:
        shown["options"] = dict(entry.options)
    return shown
