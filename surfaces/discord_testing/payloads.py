"""The JSON that Discord shows of each thing.

Owns the shapes. Knows no socket. Invariant: ids are strings, and what a shape says stands in the value it was made of.
"""

from phasewalk.surfaces.discord_testing.values import (
    Channel,
    ChannelKind,
    Json,
    Member,
    Message,
    Role,
    User,
    moment_of,
    written,
)

DEFAULT, REPLY = 0, 19
EPHEMERAL = 1 << 6


def user_json(user: User) -> Json:
    """A user."""
    automatic = user.bot or user.webhook
    shown = {
        "id": str(user.id),
        "username": user.name,
        "discriminator": "0000" if automatic else "0",
        "global_name": None if automatic else user.name.title(),
        "avatar": None,
        "public_flags": 0,
    }
    return {**shown, "bot": True} if automatic else shown


def member_json(member: Member, *, with_user: bool = True) -> Json:
    """A member, with or without the user that it is."""
    until = member.timed_out_until
    shown: Json = {
        "nick": member.nick,
        "avatar": None,
        "roles": [str(role) for role in sorted(member.roles)],
        "joined_at": written(member.joined),
        "premium_since": None,
        "deaf": False,
        "mute": False,
        "pending": False,
        "flags": 0,
        "communication_disabled_until": None if until is None else written(until),
    }
    return {**shown, "user": user_json(member.user)} if with_user else shown


def role_json(role: Role) -> Json:
    """A role."""
    return {
        "id": str(role.id),
        "name": role.name,
        "permissions": str(int(role.permissions)),
        "position": role.position,
        "color": 0,
        "hoist": False,
        "managed": False,
        "mentionable": False,
        "flags": 0,
    }


def channel_json(channel: Channel) -> Json:
    """A channel, thread or direct conversation."""
    shown: Json = {
        "id": str(channel.id),
        "type": int(channel.kind),
        "last_message_id": str(max(channel.messages)) if channel.messages else None,
        "flags": 0,
    }
    if channel.kind is ChannelKind.DM:
        return {**shown, "recipients": [user_json(channel.recipient)] if channel.recipient else []}
    if channel.guild is not None:
        shown["guild_id"] = str(channel.guild.id)
    shown |= {"name": channel.name, "parent_id": str(channel.parent.id) if channel.parent else None}
    return shown | (_thread_json(channel) if channel.is_thread else _text_json(channel))


def _text_json(channel: Channel) -> Json:
    roles = channel.guild.roles if channel.guild else {}
    return {
        "position": 0,
        "topic": None,
        "nsfw": False,
        "rate_limit_per_user": 0,
        "permission_overwrites": [
            {
                "id": str(key),
                "type": 0 if key in roles else 1,
                "allow": str(int(each.allow)),
                "deny": str(int(each.deny)),
            }
            for key, each in channel.overwrites.items()
        ],
    }


def _thread_json(channel: Channel) -> Json:
    made = written(moment_of(channel.id))
    return {
        "owner_id": str(channel.owner),
        "message_count": len(channel.messages),
        "member_count": 1,
        "total_message_sent": len(channel.messages),
        "rate_limit_per_user": 0,
        "thread_metadata": {
            "archived": channel.archived,
            "locked": channel.locked,
            "auto_archive_duration": 1440,
            "archive_timestamp": made,
            "create_timestamp": made,
        },
    }


def message_json(message: Message, people: dict[int, User], *, bot: int = 0, quoted: bool = True) -> Json:
    """A message, with the one it answers; `people` are the users by id, `bot` is who `me` is in reactions."""
    channel = message.channel
    guild = channel.guild
    shown: Json = {
        "id": str(message.id),
        "channel_id": str(channel.id),
        "type": DEFAULT if message.reply_to is None else REPLY,
        "author": user_json(message.author),
        "content": message.content,
        "timestamp": written(moment_of(message.id)),
        "edited_timestamp": None if message.edited is None else written(message.edited),
        "tts": False,
        "mention_everyone": message.everyone,
        "mentions": [user_json(people[one]) for one in message.pings if one in people],
        "mention_roles": [str(role) for role in message.role_pings],
        "attachments": list(message.attachments),
        "embeds": list(message.embeds),
        "components": [],
        "pinned": False,
        "flags": message.flags,
    }
    if message.reactions:
        shown["reactions"] = _reactions_json(message, bot)
    if message.nonce is not None:
        shown["nonce"] = message.nonce
    if message.author.webhook:
        shown["webhook_id"] = str(message.author.id)
    if message.thread is not None:
        shown["thread"] = channel_json(message.thread)
    if message.reply_to is not None:
        shown["message_reference"] = {"type": 0, "message_id": str(message.reply_to), "channel_id": str(channel.id)}
        if guild is not None:
            shown["message_reference"]["guild_id"] = str(guild.id)
        answered = channel.messages.get(message.reply_to)
        if quoted:
            shown["referenced_message"] = answered and message_json(answered, people, bot=bot, quoted=False)
    return shown


def message_event(message: Message, people: dict[int, User], bot: int) -> Json:
    """A message as the gateway shows it: with guild and member."""
    shown = message_json(message, people, bot=bot)
    shown["channel_type"] = int(message.channel.kind)
    guild = message.channel.guild
    if guild is not None:
        shown["guild_id"] = str(guild.id)
        member = guild.members.get(message.author.id)
        if member is not None:
            shown["member"] = member_json(member, with_user=False)
        for named in shown["mentions"]:
            mentioned = guild.members.get(int(named["id"]))
            if mentioned is not None:
                named["member"] = member_json(mentioned, with_user=False)
    return shown


def blanked(shown: Json, bot: int) -> Json:
    """A message's JSON as a bot sees it without the message-content intent: emptied, unless from or to the bot."""
    if shown["author"]["id"] == str(bot) or any(one["id"] == str(bot) for one in shown["mentions"]):
        return shown
    emptied = {**shown, "content": "", "attachments": [], "embeds": [], "components": []}
    if shown.get("referenced_message"):
        emptied["referenced_message"] = blanked(shown["referenced_message"], bot)
    return emptied


def _reactions_json(message: Message, bot: int) -> list[Json]:
    return [
        {
            "emoji": emoji_json(emoji),
            "count": len(who),
            "count_details": {"burst": 0, "normal": len(who)},
            "burst_colors": [],
            "me": bot in who,
            "me_burst": False,
        }
        for emoji, who in message.reactions.items()
    ]


def emoji_json(emoji: str) -> Json:
    """An emoji: a character, or `name:id` of a custom one."""
    name, _, number = emoji.partition(":")
    return {"name": name, "id": number or None}
