"""The endpoints about messages: post, edit, delete, read back, react, type.

Owns Discord's rules for a message's body and for reading back. Knows no socket. Invariant: within the time a nonce is
remembered, an author's nonce makes one message at most.
"""

from collections.abc import Sequence
from typing import Any

from phasewalk.surfaces.discord_testing.calls import ApiError, Call, Routes, bad_field
from phasewalk.surfaces.discord_testing.payloads import user_json
from phasewalk.surfaces.discord_testing.permissions import Permission
from phasewalk.surfaces.discord_testing.policing import MESSAGE_BULK_DELETE, MESSAGE_DELETE
from phasewalk.surfaces.discord_testing.values import Channel, Json, Message, Typing, moment_of

MOST_UNITS = 2000
"""The longest text of a message, in UTF-16 units (Discord counts so or more kindly)."""

LONGEST_NONCE = 25
OLDEST_BULK = 14 * 24 * 3600
MOST_BULK = 100


def post_message(call: Call) -> Json:
    """`POST /channels/{channel}/messages`."""
    channel = call.channel()
    _may_send(call, channel)
    return call.shown(created(call, channel))


def created(call: Call, channel: Channel, body: Json | None = None, flags: int = 0) -> Message:
    """Make the bot's message of a body that is checked first; one of a known nonce is returned as it is."""
    given: Json = call.body if body is None else body
    content = checked_content(given, call.files)
    checked_mentions(given)
    nonce = _nonce(given)
    known = _remembered(call, nonce) if given.get("enforce_nonce") else None
    if known is not None:
        return known
    made = call.world.say(
        channel,
        call.world.bot,
        content,
        reply_to=_answered(given, channel),
        attachments=call.files,
        embeds=given.get("embeds") or (),
        allowed_mentions=given.get("allowed_mentions"),
        nonce=nonce,
        flags=given.get("flags") or flags,
    )
    if nonce is not None:
        call.world.nonces[made.author.id, nonce] = (call.world.clock(), made)
    return made


def checked_content(body: Json, files: Sequence[Json] = ()) -> str:
    """The text of a body, as Discord keeps it; refused when too long, or when nothing at all is said."""
    content = (body.get("content") or "").strip()
    if len(content.encode("utf-16-le")) // 2 > MOST_UNITS:
        raise bad_field("content", "BASE_TYPE_MAX_LENGTH", f"Must be {MOST_UNITS} or fewer in length.")
    if not (content or files or any(body.get(part) for part in ("embeds", "sticker_ids", "components", "poll"))):
        raise ApiError(400, 50006, "Cannot send an empty message")
    return content


def checked_mentions(body: Json) -> None:
    """Refuse `allowed_mentions` that say two things of the same kind."""
    allowed = body.get("allowed_mentions") or {}
    for kind in ("users", "roles"):
        if kind in allowed.get("parse", ()) and allowed.get(kind):
            text = f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.'
            raise bad_field("allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", text)


def edit_message(call: Call) -> Json:
    """`PATCH /channels/{channel}/messages/{message}`."""
    message = call.message(call.channel())
    if message.author is not call.world.bot:
        raise ApiError(403, 50005, "Cannot edit a message authored by another user")
    return call.shown(edited(call, message))


def edited(call: Call, message: Message) -> Message:
    """Change the bot's message by a body that is checked first; what the body does not name stays."""
    body: Json = {"content": message.content, "embeds": message.embeds, **call.body}
    content = checked_content(body, [*message.attachments, *call.files])
    checked_mentions(body)
    message.embeds = body["embeds"] or ()
    return call.world.edit(message, content, allowed_mentions=call.body.get("allowed_mentions"))


def delete_message(call: Call) -> None:
    """`DELETE /channels/{channel}/messages/{message}`."""
    channel = call.channel()
    message = call.message(channel)
    world = call.world
    if message.author is not world.bot:
        if channel.guild is None:
            raise ApiError(403, 50003, "Cannot execute action on a DM channel")
        call.need(Permission.MANAGE_MESSAGES, channel)
    world.delete(message)
    if message.author is not world.bot:
        options = {"channel_id": str(channel.id), "count": "1"}
        author = message.author.id
        world.note(MESSAGE_DELETE, world.bot, author, reason=call.reason, options=options, guild=channel.guild)


def bulk_delete(call: Call) -> None:
    """`POST /channels/{channel}/messages/bulk-delete`."""
    channel = call.channel()
    call.need(Permission.MANAGE_MESSAGES, channel)
    numbers = [int(number) for number in call.body.get("messages", ())]
    if not 2 <= len(numbers) <= MOST_BULK:  # noqa: PLR2004  - the bounds of Discord's own sentence
        raise ApiError(
            400, 50016, "Provided too few or too many messages to delete. Must provide at least 2 and at most 100."
        )
    if min(moment_of(number) for number in numbers) < call.world.clock() - OLDEST_BULK:
        raise ApiError(400, 50034, "You can only bulk delete messages that are under 14 days old.")
    call.world.delete_many(channel, numbers)
    options = {"count": str(len(numbers))}
    call.world.note(
        MESSAGE_BULK_DELETE, call.world.bot, channel.id, reason=call.reason, options=options, guild=channel.guild
    )


def get_message(call: Call) -> Json:
    """`GET /channels/{channel}/messages/{message}`."""
    channel = call.channel()
    call.need(Permission.READ_MESSAGE_HISTORY, channel)
    return call.shown(call.message(channel))


def history(call: Call) -> list[Json]:
    """`GET /channels/{channel}/messages`: newest first; ids in the query need not exist."""
    channel = call.channel()
    most = call.limit(most=100, otherwise=50)
    if Permission.READ_MESSAGE_HISTORY not in call.world.allowed(call.world.bot, channel):
        return []
    page = _page(sorted(channel.messages), call, most)
    return [call.shown(channel.messages[number]) for number in reversed(page)]


def _page(numbers: list[int], call: Call, most: int) -> list[int]:
    for key in ("before", "after", "around"):
        if key in call.query and not call.query[key].isdecimal():
            raise bad_field(key, "NUMBER_TYPE_COERCE", f'Value "{call.query[key]}" is not snowflake.')
    if "around" in call.query:
        middle, half = int(call.query["around"]), most // 2
        older = [number for number in numbers if number < middle][-half:] if half else []
        return older + [number for number in numbers if number >= middle][: most - half]
    if "before" in call.query:
        return [number for number in numbers if number < int(call.query["before"])][-most:]
    if "after" in call.query:
        return [number for number in numbers if number > int(call.query["after"])][:most]
    return numbers[-most:]


def type_in(call: Call) -> None:
    """`POST /channels/{channel}/typing`."""
    channel = call.channel()
    _may_send(call, channel)
    call.world.typing.append(Typing(channel, call.world.clock()))


def react(call: Call) -> None:
    """`PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me`."""
    channel = call.channel()
    call.need(Permission.ADD_REACTIONS, channel)
    call.world.react(call.message(channel), call.world.bot, call.params["emoji"])


def unreact(call: Call) -> None:
    """`DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/{user}`."""
    channel, user = call.channel(), call.user()
    if user is not call.world.bot:
        call.need(Permission.MANAGE_MESSAGES, channel)
    call.world.unreact(call.message(channel), user, call.params["emoji"])


def clear_reactions(call: Call) -> None:
    """`DELETE /channels/{channel}/messages/{message}/reactions`, of one emoji or of all."""
    channel = call.channel()
    message = call.message(channel)
    call.need(Permission.MANAGE_MESSAGES, channel)
    for emoji in [call.params["emoji"]] if "emoji" in call.params else list(message.reactions):
        for user in list(message.reactions.get(emoji, ())):
            call.world.unreact(message, user, emoji)


def reactors(call: Call) -> list[Json]:
    """`GET /channels/{channel}/messages/{message}/reactions/{emoji}`."""
    message = call.message(call.channel())
    return [user_json(call.world.users[one]) for one in message.reactions.get(call.params["emoji"], ())]


def _may_send(call: Call, channel: Channel) -> None:
    if channel.recipient is not None and (channel.recipient.dms_closed or channel.recipient.bot):
        raise ApiError(403, 50007, "Cannot send messages to this user")
    if channel.is_thread and channel.archived and channel.locked:
        raise ApiError(400, 50083, "Thread is archived")
    call.need(Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES, channel)


def _nonce(body: Json) -> str | None:
    nonce: Any = body.get("nonce")
    if nonce is not None and len(str(nonce)) > LONGEST_NONCE:
        raise bad_field("nonce", "BASE_TYPE_MAX_LENGTH", f"Must be {LONGEST_NONCE} or fewer in length.")
    return None if nonce is None else str(nonce)


def _remembered(call: Call, nonce: str | None) -> Message | None:
    at, message = call.world.nonces.get((call.world.bot.id, nonce or ""), (0.0, None))
    return message if call.world.clock() - at < call.world.nonce_seconds else None


def _answered(body: Json, channel: Channel) -> Message | None:
    reference = body.get("message_reference")
    if not reference:
        return None
    answered = channel.messages.get(int(reference["message_id"]))
    if answered is None and reference.get("fail_if_not_exists", True):
        raise bad_field("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
    return answered


MESSAGE = "/channels/{channel}/messages/{message}"
ROUTES: Routes = {
    "POST /channels/{channel}/messages": post_message,
    "GET /channels/{channel}/messages": history,
    "POST /channels/{channel}/messages/bulk-delete": bulk_delete,
    "POST /channels/{channel}/typing": type_in,
    f"GET {MESSAGE}": get_message,
    f"PATCH {MESSAGE}": edit_message,
    f"DELETE {MESSAGE}": delete_message,
    f"PUT {MESSAGE}/reactions/{{emoji}}/@me": react,
    f"DELETE {MESSAGE}/reactions": clear_reactions,
    f"DELETE {MESSAGE}/reactions/{{emoji}}": clear_reactions,
    f"GET {MESSAGE}/reactions/{{emoji}}": reactors,
    f"DELETE {MESSAGE}/reactions/{{emoji}}/{{user}}": unreact,
}
