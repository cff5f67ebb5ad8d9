"""What people do with messages: say, edit, delete, react, type.

Owns the rules of mentions. Knows no request and no permission: whoever acts here may. Invariant: each act changes the
world first and is emitted then.
"""

import mimetypes
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from phasewalk.surfaces.discord_testing import payloads
from phasewalk.surfaces.discord_testing.permissions import Permission
from phasewalk.surfaces.discord_testing.population import ChannelKey, MessageKey, Population, UserKey
from phasewalk.surfaces.discord_testing.values import Channel, Event, Json, Message, User

IN_GUILD = {"message": 1 << 9, "reaction": 1 << 10, "typing": 1 << 11}
IN_DM = {"message": 1 << 12, "reaction": 1 << 13, "typing": 1 << 14}

_USER = re.compile(r"<@!?(\d+)>")
_ROLE = re.compile(r"<@&(\d+)>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")


class Talking(Population):
    """A population that talks."""

    def say(
        self,
        channel: ChannelKey,
        author: UserKey,
        text: str = "",
        *,
        reply_to: MessageKey | None = None,
        mention_bot: bool = False,
        attachments: Sequence[Json | str] = (),
        embeds: Sequence[Json] = (),
        allowed_mentions: Mapping[str, Any] | None = None,
        nonce: str | None = None,
        flags: int = 0,
        at: float | None = None,
        quietly: bool = False,
    ) -> Message:
        """A new message.

        Attachments are file names or Discord's JSON, with the `content` that can be fetched from their address; `at`
        is a unix time in seconds, for an old message; `quietly` makes it without an event, as history.
        """
        place, who = self.channel(channel), self.user(author)
        answered = None if reply_to is None else self.message(reply_to)
        message = Message(
            self.ids.new(at),
            place,
            who,
            f"<@{self.bot.id}> {text}".rstrip() if mention_bot else text,
            None if answered is None else answered.id,
            nonce=nonce,
            allowed_mentions=allowed_mentions,
            attachments=[self._attachment(each) for each in attachments],
            embeds=list(embeds),
            flags=flags,
        )
        self._ping(message, answered)
        place.messages[message.id] = message
        if not quietly:
            self._emit_message("MESSAGE_CREATE", message)
        return message

    def edit(self, message: MessageKey, text: str, *, allowed_mentions: Mapping[str, Any] | None = None) -> Message:
        """Change the text of a message."""
        changed = self.message(message)
        changed.content, changed.edited = text, self.clock()
        changed.allowed_mentions = allowed_mentions
        answered = None if changed.reply_to is None else changed.channel.messages.get(changed.reply_to)
        self._ping(changed, answered)
        self._emit_message("MESSAGE_UPDATE", changed)
        return changed

    def embed(self, message: MessageKey, *embeds: Json) -> Message:
        """Let Discord add previews to a message: an update that nobody edited."""
        changed = self.message(message)
        changed.embeds = [*changed.embeds, *(embeds or ({"type": "link", "url": "https://example.org", "title": "x"},))]
        self._emit_message("MESSAGE_UPDATE", changed)
        return changed

    def delete(self, message: MessageKey) -> None:
        """Delete one message."""
        gone = self.message(message)
        del gone.channel.messages[gone.id]
        self._emit(gone.channel, "MESSAGE_DELETE", {"id": str(gone.id)}, "message")

    def delete_many(self, channel: ChannelKey, messages: Iterable[MessageKey]) -> None:
        """Delete several messages of a channel in one event; those that are not there count for nothing."""
        place = self.channel(channel)
        numbers = [one.id if isinstance(one, Message) else int(one) for one in messages]
        gone = [str(number) for number in numbers if place.messages.pop(number, None)]
        if gone:
            self._emit(place, "MESSAGE_DELETE_BULK", {"ids": gone}, "message")

    def react(self, message: MessageKey, user: UserKey, emoji: str) -> None:
        """Add a reaction: a character, or `name:id` of a custom emoji."""
        target, who = self.message(message), self.user(user)
        reacted = target.reactions.setdefault(emoji, [])
        if who.id not in reacted:
            reacted.append(who.id)
            self._emit_reaction("MESSAGE_REACTION_ADD", target, who, emoji)

    def unreact(self, message: MessageKey, user: UserKey, emoji: str) -> None:
        """Take a reaction back."""
        target, who = self.message(message), self.user(user)
        if who.id in target.reactions.get(emoji, ()):
            target.reactions[emoji].remove(who.id)
            if not target.reactions[emoji]:
                del target.reactions[emoji]
            self._emit_reaction("MESSAGE_REACTION_REMOVE", target, who, emoji)

    def type(self, channel: ChannelKey, user: UserKey) -> None:
        """Show that somebody types."""
        place, who = self.channel(channel), self.user(user)
        self._emit(place, "TYPING_START", {"user_id": str(who.id), "timestamp": int(self.clock())}, "typing")

    def _ping(self, message: Message, answered: Message | None) -> None:
        """Work out whom a message notifies: what it mentions, as far as `allowed_mentions` lets it."""
        allowed = message.allowed_mentions
        parse = ("users", "roles", "everyone") if allowed is None else allowed.get("parse", ())
        users = _named(_USER, message.content, "users" in parse, (allowed or {}).get("users", ()))
        if answered is not None and (allowed is None or allowed.get("replied_user", False)):
            users = list(dict.fromkeys([*users, answered.author.id]))
        message.pings = [number for number in users if number in self.users]
        message.role_pings = _named(_ROLE, message.content, "roles" in parse, (allowed or {}).get("roles", ()))
        may = Permission.MENTION_EVERYONE in self.allowed(message.author, message.channel)
        message.everyone = may and "everyone" in parse and bool(_EVERYONE.search(message.content))

    def _attachment(self, given: Json | str) -> Json:
        known: Json = {"filename": given} if isinstance(given, str) else {"filename": "file", **given}
        content = known.pop("content", b"")
        number = str(self.ids.new())
        path = f"/attachments/{number}/{known['filename']}"
        self.files[path] = content.encode() if isinstance(content, str) else content
        url, kind = self.cdn + quote(path), mimetypes.guess_type(path)[0]
        shown = {"id": number, "size": len(self.files[path]), "url": url, "proxy_url": url}
        return shown | ({"content_type": kind} if kind else {}) | known

    def _emit_message(self, name: str, message: Message) -> None:
        self._emit(message.channel, name, payloads.message_event(message, self.users, self.bot.id), "message")

    def _emit_reaction(self, name: str, message: Message, who: User, emoji: str) -> None:
        shown: Json = {
            "user_id": str(who.id),
            "message_id": str(message.id),
            "emoji": payloads.emoji_json(emoji),
            "burst": False,
            "type": 0,
        }
        guild = message.channel.guild
        if name.endswith("ADD"):
            shown["message_author_id"] = str(message.author.id)
            if guild is not None and who.id in guild.members:
                shown["member"] = payloads.member_json(guild.members[who.id])
        self._emit(message.channel, name, shown, "reaction")

    def _emit(self, channel: Channel, name: str, shown: Json, about: str) -> None:
        where: Json = {"channel_id": str(channel.id)}
        if channel.guild is not None:
            where["guild_id"] = str(channel.guild.id)
        needs = (IN_DM if channel.guild is None else IN_GUILD)[about]
        self.emit(Event(name, {**where, **shown}, needs, channel))


def _named(mention: re.Pattern[str], text: str, every: bool, only: Iterable[Any]) -> list[int]:  # noqa: FBT001  - read with its neighbours
    wanted = {int(one) for one in only}
    numbers = dict.fromkeys(int(found) for found in mention.findall(text))
    return [number for number in numbers if every or number in wanted]
