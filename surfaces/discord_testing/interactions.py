"""What people ask of a bot by its commands, and what it answers.

Owns the commands that the bot has registered and each use of one. Knows no request. Invariant: an interaction holds
every answer that the bot gave, in order, private ones included.
"""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from phasewalk.surfaces.discord_testing import payloads
from phasewalk.surfaces.discord_testing.permissions import Permission
from phasewalk.surfaces.discord_testing.policing import Policing
from phasewalk.surfaces.discord_testing.population import ChannelKey, MessageKey, UserKey
from phasewalk.surfaces.discord_testing.values import Channel, Event, Json, Message, User

CHAT_INPUT, USER_MENU, MESSAGE_MENU = 1, 2, 3
SUB_COMMAND, SUB_COMMAND_GROUP = 1, 2
OPTION_KINDS: Mapping[type, int] = {bool: 5, int: 4, float: 10, str: 3}


@frozen(eq=False)
class Answer:
    """A text that the bot gave to an interaction; `private` is for nobody but the asker."""

    message: Message
    private: bool
    body: Json

    @property
    def text(self) -> str:
        """The words, as they stand now."""
        return self.message.content


@define(eq=False)
class Interaction:
    """One use of a command; `deferred` says that the bot asked for time, `acknowledged` that it answered at all."""

    id: int
    token: str
    user: User
    channel: Channel
    made: float
    data: Json
    acknowledged: bool = False
    deferred: bool = False
    private: bool = False
    answers: list[Answer] = field(factory=list)
    _news: asyncio.Event = field(factory=asyncio.Event)

    def answer(self, answer: Answer) -> None:
        """Keep an answer of the bot."""
        self.answers.append(answer)
        self._news.set()

    async def answered(self, seconds: float = 10.0) -> Answer:
        """Wait for the first answer with a text; raises TimeoutError after so many seconds."""
        async with asyncio.timeout(seconds):
            await self._news.wait()
        return self.answers[0]


class Interacting(Policing):
    """A population that uses the bot's commands."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.commands: dict[int | None, list[Json]] = {}
        self.interactions: dict[str, Interaction] = {}
        super().__init__(*args, **options)

    def slash(
        self,
        channel: ChannelKey,
        user: UserKey,
        command: str,
        options: Mapping[str, Any] | None = None,
        *,
        force: bool = False,
    ) -> Interaction:
        """Use a slash command, sub-commands after blanks. Discord offers a command only to whom it is meant for;
        `force` sends it all the same, as if the bot's registration were out of date.
        """
        place, who = self.channel(channel), self.user(user)
        name, *path = command.split(" ")
        known = self._offered(name, CHAT_INPUT, place, who, force=force)
        data = {"id": known["id"], "name": name, "type": CHAT_INPUT, "options": _nested(known, path, options or {})}
        return self._interact(place, who, known, data)

    def message_menu(self, message: MessageKey, user: UserKey, command: str, *, force: bool = False) -> Interaction:
        """Use an entry of a message's context menu; `force` as for `slash`."""
        target, who = self.message(message), self.user(user)
        known = self._offered(command, MESSAGE_MENU, target.channel, who, force=force)
        shown = payloads.message_json(target, self.users, bot=self.bot.id)
        resolved = {"messages": {str(target.id): shown}}
        data = {
            "id": known["id"],
            "name": command,
            "type": MESSAGE_MENU,
            "target_id": str(target.id),
            "resolved": resolved,
        }
        return self._interact(target.channel, who, known, data)

    def _offered(self, name: str, kind: int, place: Channel, who: User, *, force: bool) -> Json:
        home = None if place.guild is None else place.guild.id
        near: list[Json] = [*self.commands.get(home, ()), *self.commands.get(None, ())]
        for known in near:
            if known["name"] == name and known.get("type", CHAT_INPUT) == kind:
                wanted = known.get("default_member_permissions")
                if force or wanted is None or Permission(int(wanted)) in self.allowed(who, place):
                    return known
                raise LookupError(f"Discord does not offer {name} to {who.name} here: permissions {wanted} are needed")
        there = ", ".join(sorted(known["name"] for known in near)) or "none"
        raise LookupError(f"the bot has registered no command {name} of kind {kind} here; there is: {there}")

    def _interact(self, place: Channel, who: User, known: Json, data: Json) -> Interaction:
        token = secrets.token_urlsafe(48)
        made = Interaction(self.ids.new(), token, who, place, self.clock(), data)
        self.interactions[token] = made
        if known.get("guild_id"):
            data["guild_id"] = known["guild_id"]
        self.emit(Event("INTERACTION_CREATE", self._shown(made)))
        return made

    def _shown(self, made: Interaction) -> Json:
        place, guild = made.channel, made.channel.guild
        shown: Json = {
            "id": str(made.id),
            "application_id": str(self.bot.id),
            "type": 2,
            "token": made.token,
            "version": 1,
            "data": made.data,
            "channel_id": str(place.id),
            "channel": payloads.channel_json(place),
            "app_permissions": str(int(self.allowed(self.bot, place))),
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {"0": "0" if guild is None else str(guild.id)},
            "context": 1 if guild is None else 0,
            "attachment_size_limit": 10 * 1024 * 1024,
        }
        if guild is None:
            return {**shown, "user": payloads.user_json(made.user)}
        may = str(int(self.allowed(made.user, place)))
        member = {**payloads.member_json(guild.members[made.user.id]), "permissions": may}
        home = {"id": str(guild.id), "locale": "en-US", "features": []}
        return {**shown, "guild_id": str(guild.id), "guild": home, "guild_locale": "en-US", "member": member}


def _nested(known: Json, path: Sequence[str], options: Mapping[str, Any]) -> list[Json]:
    """Options as Discord sends them: inside each other as far as sub-commands go."""
    declared = {option["name"]: option for option in known.get("options", ())}
    if path:
        if path[0] not in declared:
            raise LookupError(f"{known['name']} has no sub-command {path[0]}; there is: {', '.join(sorted(declared))}")
        below = declared[path[0]]
        return [{"name": path[0], "type": below["type"], "options": _nested(below, path[1:], options)}]
    return [
        {
            "name": name,
            "type": declared[name]["type"] if name in declared else OPTION_KINDS[type(value)],
            "value": value,
        }
        for name, value in options.items()
    ]
