"""The endpoints about the bot itself: who it is, where the gateway is, its direct conversations.

Owns the application's flags. Knows no socket. Invariant: the gateway that is named is the fake's own.
"""

from phasewalk.surfaces.discord_testing.calls import Call, Routes, missing
from phasewalk.surfaces.discord_testing.payloads import channel_json, user_json
from phasewalk.surfaces.discord_testing.payloads_guild import guild_json
from phasewalk.surfaces.discord_testing.values import Json
from phasewalk.surfaces.discord_testing.world import World

LIMITED = {"presences": 1 << 13, "members": 1 << 15, "message_content": 1 << 19}
"""The application's flags for privileged intents that were switched on."""


def application_flags(world: World) -> int:
    """The application's flags."""
    return sum(LIMITED[name] for name in world.privileged)


def me(call: Call) -> Json:
    """`GET /users/@me`."""
    return {**user_json(call.world.bot), "verified": True, "mfa_enabled": True, "locale": "en-US", "flags": 0}


def user(call: Call) -> Json:
    """`GET /users/{user}`."""
    return user_json(call.user())


def application(call: Call) -> Json:
    """`GET /oauth2/applications/@me`."""
    world = call.world
    owner = next((guild.owner for guild in world.guilds.values()), world.bot)
    return {
        "id": str(world.bot.id),
        "name": world.bot.name,
        "description": "",
        "icon": None,
        "bot_public": False,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "flags": application_flags(world),
        "owner": user_json(owner),
        "team": None,
    }


def open_dm(call: Call) -> Json:
    """`POST /users/@me/channels`."""
    other = call.world.users.get(int(call.body["recipient_id"]))
    if other is None:
        raise missing(10013, "User")
    return channel_json(call.world.dm(other))


def my_guilds(call: Call) -> list[Json]:
    """`GET /users/@me/guilds`."""
    return [guild_json(guild) for guild in call.world.guilds.values() if call.world.bot.id in guild.members]


def gateway(call: Call) -> Json:
    """`GET /gateway/bot` and `GET /gateway`."""
    limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
    return {"url": call.params["gateway"], "shards": 1, "session_start_limit": limit}


ROUTES: Routes = {
    "GET /users/@me": me,
    "GET /users/@me/guilds": my_guilds,
    "POST /users/@me/channels": open_dm,
    "GET /users/{user}": user,
    "GET /oauth2/applications/@me": application,
    "GET /applications/@me": application,
    "GET /gateway": gateway,
    "GET /gateway/bot": gateway,
}
