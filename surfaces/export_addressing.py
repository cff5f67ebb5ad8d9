"""Decides what a message of an export means for the bot: is it spoken to, by whom, and does it open a turn at all.

Owns the addressing rule of `feed`; knows no file and no turn.
Invariant: only what a person wrote opens a turn, and the bot's own name proves nothing unless the account is a bot's.
"""

import re
from collections.abc import Collection

from phasewalk.machine.reasons import Reason
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.surfaces.export_messages import ExportInfo, ExportMessage


def is_own(message: ExportMessage, bot_name: str, bot_ids_or_names: Collection[str] = ()) -> bool:
    """Whether the bot wrote this itself. `bot_ids_or_names` are further names and ids that mean the bot."""
    names = _names(bot_name, bot_ids_or_names)
    account = {message.author_name.casefold(), message.author_id}
    return message.is_bot and not message.is_webhook and not names.isdisjoint(account)


def ignored_reason(message: ExportMessage, bot_name: str, bot_ids_or_names: Collection[str] = ()) -> Reason | None:
    """Why this message opens no turn; None if it does."""
    if is_own(message, bot_name, bot_ids_or_names):
        return Reason.OWN_MESSAGE
    if message.is_webhook:
        return Reason.WEBHOOK_AUTHOR
    if message.is_bot:
        return Reason.BOT_AUTHOR
    return Reason.NOTHING_TO_DO if message.is_system else None


def trigger_of(
    message: ExportMessage,
    info: ExportInfo,
    bot_name: str,
    bot_ids_or_names: Collection[str] = (),
    own_message_ids: Collection[str] = (),
) -> Trigger:
    """What this message triggers.

    `bot_ids_or_names` are further names and ids that mean the bot; `own_message_ids` are the messages by the bot: who
    replies to one speaks to it. A reply is always younger than what it answers, so they can be gathered on the way.
    """
    return Trigger(
        key=f"feed:{message.message_id}",
        kind=Kind.USER,
        text=_without_leading_mention(message.text, _mention_pattern(bot_name, bot_ids_or_names)),
        channel_id=info.channel_id,
        channel_name=info.channel_name,
        user_id=message.author_id,
        user_name=message.author_name,
        guild_id=info.guild_id,
        nickname=message.nickname,
        topic=info.topic,
        message_id=message.message_id,
        sent_us=message.sent_us,
        addressed=_addressed(message, bot_name, bot_ids_or_names, own_message_ids),
        reply_to=message.reply_to,
        attachments=message.attachments,
        author_kind=_author_kind(message, bot_name, bot_ids_or_names),
    )


def _author_kind(message: ExportMessage, bot_name: str, bot_ids_or_names: Collection[str]) -> str:
    if is_own(message, bot_name, bot_ids_or_names):
        return "own"
    if message.is_webhook:
        return "webhook"
    return "bot" if message.is_bot else "person"


def _addressed(
    message: ExportMessage, bot_name: str, bot_ids_or_names: Collection[str], own_message_ids: Collection[str]
) -> Addressed | None:
    names = _names(bot_name, bot_ids_or_names)
    mentioned = {*(name.casefold() for name in message.mention_names), *message.mention_ids}
    if not names.isdisjoint(mentioned) or _mention_pattern(bot_name, bot_ids_or_names).search(message.text):
        return Addressed.MENTION
    if message.reply_to and message.reply_to in own_message_ids:
        return Addressed.REPLY
    return None


def _names(bot_name: str, bot_ids_or_names: Collection[str]) -> set[str]:
    """Everything that means the bot, ready for comparison."""
    return {name.casefold() for name in (bot_name, *bot_ids_or_names) if name}


def _mention_pattern(bot_name: str, bot_ids_or_names: Collection[str]) -> re.Pattern[str]:
    """`@name` as a whole word, or `<@id>`. A name that goes on (`@helper.two`, `@helper-two`) is somebody else's."""
    longest_first = sorted(_names(bot_name, bot_ids_or_names), key=lambda name: (-len(name), name))
    names = "|".join(map(re.escape, longest_first)) or "(?!)"  # a bot without a name is named by nothing
    return re.compile(rf"(?<![\w@])@(?:{names})(?![\w]|[.-]\w)|<@!?(?:{names})>", re.IGNORECASE)


def _without_leading_mention(text: str, mention: re.Pattern[str]) -> str:
    """`text` without the mention that it opens with; a mention that is all there is stays."""
    opening = mention.match(text.lstrip())
    rest = text.lstrip()[opening.end() :].lstrip(" \t\r\n,:;") if opening else ""
    return rest or text
