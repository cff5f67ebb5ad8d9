"""The fake steered from another process: `POST /control/VERB` with a JSON object of arguments.

Owns which verbs there are and how what they give is shown. Knows no client. Invariant: a verb does what the method of
the same name does; whatever is wrong with a call is answered with one sentence and status 400.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from aiohttp import web
from attrs import asdict, has

from phasewalk.surfaces.discord_testing import payloads, payloads_guild
from phasewalk.surfaces.discord_testing.faults import Hold, fault_of
from phasewalk.surfaces.discord_testing.interactions import Interaction
from phasewalk.surfaces.discord_testing.values import (
    AuditEntry,
    Ban,
    Channel,
    Guild,
    Json,
    Member,
    Message,
    Role,
    User,
)
from phasewalk.surfaces.discord_testing.world import PRIVILEGED

if TYPE_CHECKING:
    from phasewalk.surfaces.discord_testing.server import FakeDiscord

OF_WORLD = (
    "add_user", "add_guild", "add_role", "add_member", "add_channel", "add_thread", "remove_channel", "overwrite",
    "dm", "say", "edit", "embed", "delete", "delete_many", "react", "unreact", "type", "said", "ban", "unban", "kick",
    "leave", "time_out", "note", "slash", "message_menu",
)  # fmt: skip
OF_GATEWAY = ("reconnect", "invalidate", "close", "drop", "refuse", "again", "late_by")


def verbs(fake: "FakeDiscord") -> dict[str, Callable[..., Any]]:
    """What can be asked, by name; some of it has to be waited for."""
    return {
        **{name: getattr(fake.world, name) for name in OF_WORLD},
        **{name: getattr(fake.gateway, name) for name in OF_GATEWAY},
        **_Further(fake).verbs(),
    }


class _Further:
    """Verbs that are no method elsewhere: values that JSON can carry, and waiting."""

    def __init__(self, fake: "FakeDiscord") -> None:
        self._fake = fake

    def verbs(self) -> dict[str, Callable[..., Any]]:
        further = (self.fault, self.hold, self.held, self.release, self.clear_faults, self.set)
        asked = (self.requests, self.pinging, self.unserved, self.wait_for, self.ready, self.gateway, self.answers)
        seen = (self.history, self.typing, self.bans, self.audit)
        return {one.__name__: one for one in (*further, *asked, *seen)}

    def fault(self, method: str, path: str, fault: Json, times: int = 1) -> None:
        self._fake.faults.add(method, path, fault_of(fault), times)

    def hold(self, method: str, path: str, *, after: bool = True, times: int = 1) -> int:
        self._fake.holds.append(self._fake.hold(method, path, after=after, times=times))
        return len(self._fake.holds) - 1

    async def held(self, hold: int, seconds: float = 10.0) -> list[str]:
        return (await self._fake.held(self._hold(hold), seconds)).standing

    def release(self, hold: int) -> None:
        self._hold(hold).release()

    def requests(self, method: str = "*", path: str = "/**") -> Any:
        return self._fake.requests_to(method, path)

    async def wait_for(self, method: str, path: str, times: int = 1, seconds: float = 10.0) -> Any:
        fake = self._fake
        await fake.until(lambda: len(fake.requests_to(method, path)) >= times, seconds)
        return fake.requests_to(method, path)

    async def ready(self, times: int = 1, seconds: float = 10.0) -> str:
        return (await self._fake.gateway.ready(times, seconds)).id

    async def answers(self, interaction: str, seconds: float = 10.0) -> list[str]:
        used = {str(one.id): one for one in self._fake.world.interactions.values()}
        if interaction not in used:
            raise LookupError(f"there is no interaction {interaction}")
        await used[interaction].answered(seconds)
        return [answer.text for answer in used[interaction].answers]

    def clear_faults(self) -> None:
        self._fake.faults.clear()

    def pinging(self) -> Any:
        return self._fake.pinging()

    def unserved(self) -> list[str]:
        return self._fake.unserved

    def set(self, **settings: Any) -> None:
        """Change settings of the world or the gateway by name."""
        for name, value in settings.items():
            if name not in SETTINGS:
                raise LookupError(f"there is no setting {name}; there is: {', '.join(SETTINGS)}")
            owner = next(one for one in (self._fake.world, self._fake.gateway) if hasattr(one, name))
            setattr(owner, name, SETTINGS[name](value))

    def typing(self) -> list[Json]:
        return [{"channel_id": str(one.channel.id), "at": one.at} for one in self._fake.world.typing]

    def bans(self, guild: str | None = None) -> list[Ban]:
        return list(self._fake.world.guild(guild).bans.values())

    def audit(self, guild: str | None = None) -> list[AuditEntry]:
        return self._fake.world.guild(guild).audit

    def history(self, channel: str) -> list[Message]:
        return sorted(self._fake.world.channel(channel).messages.values(), key=lambda message: message.id)

    def gateway(self) -> Json:
        state = self._fake.gateway
        return {
            "identified": len(state.identified),
            "resumed": len(state.resumed),
            "heartbeats": len(state.heartbeats),
            "connected": len(state.connected),
        }

    def _hold(self, number: int) -> Hold:
        if not 0 <= number < len(self._fake.holds):
            raise LookupError(f"there is no hold {number}; there are {len(self._fake.holds)}")
        return self._fake.holds[number]


def _privileged(given: Any) -> set[str]:
    names = set(given)
    if not names <= set(PRIVILEGED):
        raise ValueError(f"privileged are some of {', '.join(PRIVILEGED)}, not {given}")
    return names


SETTINGS: Mapping[str, Callable[[Any], Any]] = {
    "token": str,
    "privileged": _privileged,
    "nonce_seconds": float,
    "interaction_seconds": float,
    "acknowledges": bool,
    "refuses_resumes": bool,
    "interval": float,
}
"""What can be set, and how it is read."""


async def serve(fake: "FakeDiscord", request: web.Request) -> web.Response:
    """Do one verb and answer `{"result": ...}`, or `{"error": "..."}` with status 400 (404 for no such verb)."""
    known = verbs(fake)
    name = request.match_info["verb"]
    if name not in known:
        return _answer(404, {"error": f"there is no verb {name}; there is: {', '.join(sorted(known))}"})
    try:
        given = json.loads(await request.text() or "{}")
        inspect.signature(known[name]).bind(**given)
        result = known[name](**given)
        result = await result if inspect.isawaitable(result) else result
    except (TypeError, ValueError, LookupError, TimeoutError) as error:
        what = "nothing of the kind happened in time" if isinstance(error, TimeoutError) else error
        return _answer(400, {"error": f"{name}: {what}"})
    return _answer(200, {"result": plain(fake, result)})


def plain(fake: "FakeDiscord", value: Any) -> Any:
    """A value of the fake as JSON: things of Discord as Discord shows them."""
    if isinstance(value, list | tuple):
        return [plain(fake, one) for one in value]
    if isinstance(value, Message):
        return payloads.message_json(value, fake.world.users, bot=fake.world.bot.id)
    for kind, shown in SHOWN.items():
        if isinstance(value, kind):
            return shown(value)
    return asdict(value) if has(type(value)) else value


SHOWN: Mapping[type, Callable[[Any], Json]] = {
    Channel: payloads.channel_json,
    User: payloads.user_json,
    Member: payloads.member_json,
    Role: payloads.role_json,
    Guild: payloads_guild.guild_json,
    Ban: lambda ban: {**payloads_guild.ban_json(ban), "delete_message_seconds": ban.delete_message_seconds},
    AuditEntry: payloads_guild.audit_json,
    Interaction: lambda used: {"id": str(used.id), "answers": [answer.text for answer in used.answers]},
}


def _answer(status: int, shown: Json) -> web.Response:
    return web.Response(status=status, body=json.dumps(shown).encode(), content_type="application/json")
