"""A request to the API as the endpoints see it, and the errors they answer with.

Owns the checks that every endpoint shares: is it there, may the bot see it, may it do that. Knows no socket.
Invariant: an endpoint returns what Discord would show, None for "no content", or raises ApiError.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from phasewalk.surfaces.discord_testing.payloads import blanked, message_json
from phasewalk.surfaces.discord_testing.permissions import Permission, granted
from phasewalk.surfaces.discord_testing.values import Channel, Guild, Json, Message, User
from phasewalk.surfaces.discord_testing.world import World


class ApiError(Exception):
    """A refusal in Discord's manner: a status, Discord's own number, a sentence, and errors by field."""

    def __init__(self, status: int, code: int, message: str, errors: Json | None = None) -> None:
        super().__init__(f"{status} (error code: {code}): {message}")
        self.status = status
        self.body: Json = {"code": code, "message": message}
        if errors is not None:
            self.body["errors"] = errors


def bad_field(field: str, code: str, message: str) -> ApiError:
    """The refusal of one field of a body."""
    return ApiError(400, 50035, "Invalid Form Body", {field: {"_errors": [{"code": code, "message": message}]}})


def missing(code: int, what: str) -> ApiError:
    """The refusal of an id that means nothing."""
    return ApiError(404, code, f"Unknown {what}")


@frozen
class Call:
    """One request: parts of its path, its query and body, names and sizes of its files, its audit-log reason."""

    world: World
    params: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    files: Sequence[Json] = ()
    reason: str | None = None

    def number(self, name: str) -> int:
        """An id from the path."""
        if not self.params[name].isdecimal():
            raise bad_field(name, "NUMBER_TYPE_COERCE", f'Value "{self.params[name]}" is not snowflake.')
        return int(self.params[name])

    def limit(self, *, most: int, otherwise: int) -> int:
        """The `limit` of the query: 1 to `most`."""
        given = self.query.get("limit", str(otherwise))
        if not given.isdecimal() or not 1 <= int(given) <= most:
            raise bad_field("limit", "NUMBER_TYPE_MAX", f"int value should be between 1 and {most}.")
        return int(given)

    def channel(self) -> Channel:
        """The channel of the path, if it is there and the bot sees it."""
        channel = self.world.channels.get(self.number("channel"))
        if channel is None:
            raise missing(10003, "Channel")
        if not self.world.sees(channel):
            raise ApiError(403, 50001, "Missing Access")
        return channel

    def message(self, channel: Channel) -> Message:
        """The message of the path, if it is there."""
        message = channel.messages.get(self.number("message"))
        if message is None:
            raise missing(10008, "Message")
        return message

    def guild(self) -> Guild:
        """The guild of the path, if the bot belongs to it."""
        guild = self.world.guilds.get(self.number("guild"))
        if guild is None:
            raise missing(10004, "Guild")
        if self.world.bot.id not in guild.members:
            raise ApiError(403, 50001, "Missing Access")
        return guild

    def user(self) -> User:
        """The user of the path, if there is one."""
        number = self.world.bot.id if self.params["user"] == "@me" else self.number("user")
        if number not in self.world.users:
            raise missing(10013, "User")
        return self.world.users[number]

    def need(self, permission: Permission, place: Channel | Guild) -> None:
        """Refuse unless the bot has a permission there."""
        world = self.world
        if isinstance(place, Guild):
            has = granted(place, place.members[world.bot.id], now=world.clock())
        else:
            has = world.allowed(world.bot, place)
        if permission not in has:
            raise ApiError(403, 50013, "Missing Permissions")

    def shown(self, message: Message) -> Json:
        """A message as the API shows it to the bot."""
        full = message_json(message, self.world.users, bot=self.world.bot.id)
        open_to_bot = self.world.reads_content or message.channel.guild is None
        return full if open_to_bot else blanked(full, self.world.bot.id)


Endpoint = Callable[[Call], Any]
Routes = Mapping[str, Endpoint]
"""Endpoints by method and path below the API, such as `GET /channels/{channel}`."""
