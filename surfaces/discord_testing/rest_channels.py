"""The endpoints about channels and threads themselves.

Owns what may be changed in a channel. Knows no socket. Invariant: a channel that was deleted is unknown at once.
"""

from phasewalk.surfaces.discord_testing.calls import ApiError, Call, Routes, bad_field
from phasewalk.surfaces.discord_testing.payloads import channel_json
from phasewalk.surfaces.discord_testing.permissions import Permission
from phasewalk.surfaces.discord_testing.population import GUILDS
from phasewalk.surfaces.discord_testing.values import Event, Json

PRIVATE_THREAD = 12


def channel(call: Call) -> Json:
    """`GET /channels/{channel}`."""
    return channel_json(call.channel())


def change_channel(call: Call) -> Json:
    """`PATCH /channels/{channel}`: its name; of a thread, whether it is archived or locked."""
    changed = call.channel()
    mine = changed.is_thread and changed.owner == call.world.bot.id
    if not mine:
        call.need(Permission.MANAGE_THREADS if changed.is_thread else Permission.MANAGE_CHANNELS, changed)
    changed.name = call.body.get("name", changed.name)
    changed.archived = call.body.get("archived", changed.archived)
    changed.locked = call.body.get("locked", changed.locked)
    kind = "THREAD" if changed.is_thread else "CHANNEL"
    call.world.emit(Event(f"{kind}_UPDATE", channel_json(changed), GUILDS))
    return channel_json(changed)


def delete_channel(call: Call) -> Json:
    """`DELETE /channels/{channel}`."""
    gone = call.channel()
    call.need(Permission.MANAGE_THREADS if gone.is_thread else Permission.MANAGE_CHANNELS, gone)
    call.world.remove_channel(gone)
    return channel_json(gone)


def thread_from_message(call: Call) -> Json:
    """`POST /channels/{channel}/messages/{message}/threads`."""
    parent = call.channel()
    message = call.message(parent)
    call.need(Permission.CREATE_PUBLIC_THREADS, parent)
    if message.thread is not None:
        raise ApiError(400, 160004, "A thread has already been created for this message")
    return channel_json(call.world.add_thread(_name(call), parent, at=message.id))


def thread(call: Call) -> Json:
    """`POST /channels/{channel}/threads`."""
    parent, private = call.channel(), call.body.get("type") == PRIVATE_THREAD
    call.need(Permission.CREATE_PRIVATE_THREADS if private else Permission.CREATE_PUBLIC_THREADS, parent)
    return channel_json(call.world.add_thread(_name(call), parent, private=private))


def thread_membership(call: Call) -> None:
    """`PUT` and `DELETE /channels/{channel}/thread-members/{user}`: accepted, and nothing comes of it."""
    call.channel()


def active_threads(call: Call) -> Json:
    """`GET /guilds/{guild}/threads/active`."""
    open_ones = [one for one in call.guild().channels.values() if one.is_thread and not one.archived]
    return {"threads": [channel_json(one) for one in open_ones if call.world.sees(one)], "members": []}


def _name(call: Call) -> str:
    name: str = call.body.get("name", "")
    if not 1 <= len(name) <= 100:  # noqa: PLR2004  - the bounds of the sentence below
        raise bad_field("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
    return name


ROUTES: Routes = {
    "GET /channels/{channel}": channel,
    "PATCH /channels/{channel}": change_channel,
    "DELETE /channels/{channel}": delete_channel,
    "POST /channels/{channel}/messages/{message}/threads": thread_from_message,
    "POST /channels/{channel}/threads": thread,
    "PUT /channels/{channel}/thread-members/{user}": thread_membership,
    "DELETE /channels/{channel}/thread-members/{user}": thread_membership,
    "GET /guilds/{guild}/threads/active": active_threads,
}
