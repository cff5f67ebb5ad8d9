"""The fake Discord itself: REST and gateway on one port of loopback.

Owns the serving: recording each request, letting faults happen, checking the token, writing answers as Discord writes
them. Knows no client library. Invariant: each request is recorded before anything is done about it.
"""

import asyncio
import json
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import unquote

from aiohttp import web
from attrs import frozen

from phasewalk.surfaces.discord_testing import (
    control,
    rest_account,
    rest_channels,
    rest_guild,
    rest_interactions,
    rest_messages,
)
from phasewalk.surfaces.discord_testing.bell import Bell
from phasewalk.surfaces.discord_testing.calls import ApiError, Call, Endpoint
from phasewalk.surfaces.discord_testing.faults import Fault, FaultBook, Hold, Refusal, Reset, Wait, pattern_of
from phasewalk.surfaces.discord_testing.gateway import Gateway
from phasewalk.surfaces.discord_testing.gateway_link import abort
from phasewalk.surfaces.discord_testing.values import Json
from phasewalk.surfaces.discord_testing.world import World, small_world

BASE = "/api/v10"
ROUTES: Mapping[str, Endpoint] = {
    **rest_account.ROUTES,
    **rest_channels.ROUTES,
    **rest_messages.ROUTES,
    **rest_guild.ROUTES,
    **rest_interactions.ROUTES,
}
BY_TOKEN_OF_PATH = ("/interactions/", "/webhooks/")
"""Paths that carry their own token and need no other."""

Found = TypeVar("Found")


@frozen
class Recorded:
    """A request as it came: its path below the API, its body parsed, its files by name, its unix time in seconds."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    files: tuple[Json, ...]
    reason: str | None
    at: float


class FakeDiscord:
    """Serves a world on 127.0.0.1: `async with FakeDiscord() as fake`.

    `world` is a small one unless given; `port` 0 takes a free one; `heartbeat_interval` is in seconds.
    """

    def __init__(self, world: World | None = None, *, port: int = 0, heartbeat_interval: float = 41.25) -> None:
        self.world = small_world() if world is None else world
        self.faults = FaultBook()
        self.requests: list[Recorded] = []
        self.unserved: list[str] = []
        self.holds: list[Hold] = []
        self.api = self.gateway_url = self.control = ""
        self._bell = Bell()
        self.gateway = Gateway(self.world, self._bell, heartbeat_interval)
        self._port = port
        self._runner: web.AppRunner | None = None
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=32 << 20)
        app.router.add_get("/gw/", self.gateway.serve)
        app.router.add_post("/control/{verb}", partial(control.serve, self))
        for described, endpoint in ROUTES.items():
            method, path = described.split(" ")
            app.router.add_route(method, BASE + path, self._serving(endpoint, described))
        app.router.add_route("*", "/{path:.*}", self._serving(_unserved, "unserved"))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        place = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.api, self.control = f"http://{place}{BASE}", f"http://{place}/control"
        self.gateway_url = self.gateway.url = f"ws://{place}/gw/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        self.faults.clear()
        self.gateway.drop()
        if self._runner is not None:
            await self._runner.cleanup()

    def requests_to(self, method: str, path: str) -> list[Recorded]:
        """The requests so far of a method (`*` is any) to paths such as `/channels/*/messages`."""
        pattern = pattern_of(path)
        return [one for one in self.requests if method in ("*", one.method) and pattern.fullmatch(one.path)]

    def pinging(self) -> list[Recorded]:
        """The requests that wrote a message without saying who may be notified: each could notify everyone."""
        return [one for one in self.requests if _speaks(one) and "allowed_mentions" not in _message_of(one.body)]

    def hold(self, method: str, path: str, *, after: bool = True) -> Hold:
        """Let the next matching request stand: after it was accepted and before it is answered, or before both."""
        standing = Hold()
        self.faults.add(method, path, Fault(standing, after=after))
        return standing

    async def held(self, standing: Hold, seconds: float = 10.0) -> Hold:
        """Wait until a request stands there."""
        await self.until(lambda: standing.standing, seconds)
        return standing

    async def until(self, question: Callable[[], Found], seconds: float = 10.0) -> Found:
        """Wait until something is so, asked again whenever anything happened; raises TimeoutError."""
        return await self._bell.until(question, seconds)

    def _serving(self, endpoint: Endpoint, described: str) -> Callable[[web.Request], Any]:
        bucket = f"{zlib.crc32(described.encode()):08x}"

        async def serve(request: web.Request) -> web.StreamResponse:
            body, files = await _read(request)
            path = request.path.removeprefix(BASE)
            reason = request.headers.get("X-Audit-Log-Reason")
            reason = None if reason is None else unquote(reason)
            recorded = Recorded(request.method, path, dict(request.query), body, files, reason, self.world.clock())
            self.requests.append(recorded)
            self._bell.ring()
            params = {**request.match_info, "gateway": self.gateway.url}
            call = Call(self.world, params, recorded.query, body, files, reason)
            return await self._with_faults(request, call, endpoint, bucket)

        return serve

    async def _with_faults(self, request: web.Request, call: Call, endpoint: Endpoint, bucket: str) -> web.Response:
        path = request.path.removeprefix(BASE)
        fault = self.faults.take(request.method, path)
        if fault is not None and not fault.after:
            spoiled = await self._spoil(fault, request)
            if spoiled is not None:
                return spoiled
        answer = self._answer(request, call, endpoint, bucket)
        self._bell.ring()
        if fault is not None and fault.after:
            return await self._spoil(fault, request) or answer
        return answer

    async def _spoil(self, fault: Fault, request: web.Request) -> web.Response | None:
        """Let the fault happen; what it answers, if it answers."""
        match fault.what:
            case Refusal(status, body, headers):
                return _written(status, body, headers)
            case Reset():
                abort(request)
                return web.Response(status=500)
            case Wait(seconds):
                await self._unless_closing(self._closing.wait(), seconds)
            case Hold():
                standing = asyncio.ensure_future(fault.what.stand(request.path.removeprefix(BASE)))
                await asyncio.sleep(0)
                self._bell.ring()
                await standing
        return None

    async def _unless_closing(self, closing: Any, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await closing
        except TimeoutError:
            return

    def _answer(self, request: web.Request, call: Call, endpoint: Endpoint, bucket: str) -> web.Response:
        path = request.path.removeprefix(BASE)
        if endpoint is _unserved:
            self.unserved.append(f"{request.method} {path}")
        headers = _limits(bucket)
        open_path = path.startswith(BY_TOKEN_OF_PATH)
        if not open_path and request.headers.get("Authorization") != f"Bot {self.world.token}":
            return _written(401, {"message": "401: Unauthorized", "code": 0}, headers)
        try:
            return _written(200, endpoint(call), headers)
        except ApiError as error:
            return _written(error.status, error.body, headers)


def _unserved(_: Call) -> None:
    raise ApiError(404, 0, "404: Not Found")


async def _read(request: web.Request) -> tuple[Any, tuple[Json, ...]]:
    """The body of a request and the files that came with it."""
    if not request.content_type.startswith("multipart/"):
        text = await request.text()
        return (json.loads(text) if text else None), ()
    fields = await request.post()
    written = fields.get("payload_json", "{}")
    files = [
        {"filename": sent.filename, "size": len(sent.file.read())}
        for sent in fields.values()
        if isinstance(sent, web.FileField)
    ]
    return json.loads(written if isinstance(written, str) else "{}"), tuple(files)


def _written(status: int, shown: Any, headers: Mapping[str, str]) -> web.Response:
    """An answer as Discord writes it: JSON by its bare type, or nothing."""
    if shown is None:
        return web.Response(status=204, headers=headers)
    if isinstance(shown, str):
        return web.Response(status=status, text=shown, headers=headers)
    return web.Response(
        status=status, body=json.dumps(shown).encode(), content_type="application/json", headers=headers
    )


def _limits(bucket: str) -> dict[str, str]:
    """Headers of a limit that is far away: limits are scripted, see `faults`."""
    limit = {"Limit": "100", "Remaining": "99", "Reset": "4102444800.000", "Reset-After": "0.100", "Bucket": bucket}
    return {f"X-RateLimit-{name}": value for name, value in limit.items()}


def _speaks(one: Recorded) -> bool:
    parts = one.path.split("/")
    written = one.method in ("POST", "PATCH") and isinstance(one.body, dict)
    if not written or one.path.endswith(("/bulk-delete", "/threads")):
        return False
    return parts[1] == "webhooks" or "messages" in parts or (parts[-1] == "callback" and bool(one.body.get("data")))


def _message_of(body: Json) -> Json:
    inner: Json = body["data"] if isinstance(body.get("data"), dict) else body
    return inner
