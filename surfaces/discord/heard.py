"""What a message on Discord means for the bot: does it open a turn, is the bot spoken to, and what is said.

Owns the addressing rule of the live surface. Knows no turn. Invariant: what the bot, another bot or a webhook wrote
opens no turn (DIS-01).
"""

import re
from collections.abc import Collection

import discord

from phasewalk.machine.reasons import Reason
from phasewalk.machine.trigger import Attachment, Trigger
from phasewalk.machine.words import Addressed, Kind

KEY = "discord"
"""The kind of key of what is heard here (TURN-10)."""

DIRECT = "direct message"
"""The name of a channel that has none."""

_SPOKEN = (discord.MessageType.default, discord.MessageType.reply)


def ignored_reason(
    message: discord.Message, me: discord.ClientUser | None, hear_bots: Collection[str] = ()
) -> Reason | None:
    """Why this message opens no turn; None if it does. `hear_bots` are ids of bots and webhooks that are heard.

    An empty text is unknown where the bot may not read what is said beside it: there is nothing to judge (DIS-02).
    """
    if me is not None and message.author.id == me.id:
        return Reason.OWN_MESSAGE
    if str(message.author.id) not in hear_bots:
        if message.webhook_id is not None:
            return Reason.WEBHOOK_AUTHOR
        if message.author.bot:
            return Reason.BOT_AUTHOR
    if message.type not in _SPOKEN:
        return Reason.NOTHING_TO_DO
    empty = not message.content and not message.attachments
    return Reason.NOTHING_TO_DO if empty and addressed(message, me) is None else None


def trigger_of(message: discord.Message, me: discord.ClientUser | None) -> Trigger:
    """What this message triggers."""
    channel, guild, author = message.channel, message.guild, message.author
    webhook, bot = message.webhook_id is not None, author.bot
    reply = message.reference.message_id if message.reference is not None else None
    return Trigger(
        key=f"{KEY}:{message.id}",
        kind=Kind.USER,
        text=text_of(message, me),
        channel_id=str(channel.id),
        channel_name=getattr(channel, "name", None) or DIRECT,
        user_id=str(author.id),
        user_name=author.name,
        guild_id=str(guild.id) if guild is not None else "",
        nickname=author.display_name if author.display_name != author.name else "",
        topic=getattr(channel, "topic", None) or "",
        message_id=str(message.id),
        sent_us=int(message.created_at.timestamp() * 1_000_000),
        addressed=addressed(message, me),
        reply_to=str(reply) if reply is not None else "",
        attachments=tuple(
            Attachment(one.filename, one.url, one.size, (one.content_type or "").partition(";")[0])
            for one in message.attachments
        ),
        author_kind="webhook" if webhook else "bot" if bot else "person",
        roles=tuple(str(role.id) for role in getattr(author, "roles", ()) if not role.is_default()),
    )


def addressed(message: discord.Message, me: discord.ClientUser | None) -> Addressed | None:
    """How the bot is spoken to: alone with it, by a mention of it or of its own role, or by a reply to it."""
    if message.guild is None:
        return Addressed.DIRECT
    if me is None:
        return None
    role = message.guild.self_role
    if me.id in message.raw_mentions or (role is not None and role.id in message.raw_role_mentions):
        return Addressed.MENTION
    answered = message.reference.resolved if message.reference is not None else None
    if isinstance(answered, discord.Message) and answered.author.id == me.id:
        return Addressed.REPLY
    return None


def text_of(message: discord.Message, me: discord.ClientUser | None) -> str:
    """What is said: names in the place of ids, without the mention of the bot that it opens with."""
    text = message.clean_content
    if me is None:
        return text
    member = message.guild.me if message.guild is not None else None
    names = {me.name, me.display_name, *([member.display_name] if member is not None else [])}
    if message.guild is not None and message.guild.self_role is not None:
        names.add(message.guild.self_role.name)
    opening = re.match(rf"\s*@\u200b?(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})", text)
    rest = text[opening.end() :].lstrip(" \t\r\n,:;") if opening else ""
    return rest or text
