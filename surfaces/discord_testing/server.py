"""The fake Discord itself: REST and gateway on one port of loopback.

Owns the serving: recording each request, letting faults happen, checking the token, writing answers as Discord writes
them. Knows no client library. Invariant: each request is recorded before anything is done about it.
"""

import asyncio
import mimetypes
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import unquote

from aiohttp import web

from phasewalk.surfaces.discord_testing import (
    control,
    rest_account,
    rest_channels,
    rest_guild,
    rest_interactions,
    rest_messages,
)
from phasewalk.surfaces.discord_testing.answers import Given, answer, limits, read
from phasewalk.surfaces.discord_testing.bell import Bell
from phasewalk.surfaces.discord_testing.calls import ApiError, Call, Endpoint
from phasewalk.surfaces.discord_testing.faults import Fault, FaultBook, Hold, Refusal, Reset, Wait, pattern_of
from phasewalk.surfaces.discord_testing.gateway import Gateway
from phasewalk.surfaces.discord_testing.gateway_link import abort
from phasewalk.surfaces.discord_testing.recorded import Recorded
from phasewalk.surfaces.discord_testing.world import World, small_world

BASE, GATEWAY = "/api/v10", "/gw/"
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
        app.router.add_get(GATEWAY, self._connect)
        app.router.add_post("/control/{verb}", partial(control.serve, self))
        for described, endpoint in ROUTES.items():
            method, path = described.split(" ")
            app.router.add_route(method, BASE + path, self._serving(endpoint, described))
        app.router.add_get("/attachments/{number}/{name}", self._file)
        app.router.add_route("*", "/{path:.*}", self._serving(_unserved, "unserved"))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        place = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.world.cdn = f"http://{place}"
        self.api, self.control = f"http://{place}{BASE}", f"http://{place}/control"
        self.gateway_url = self.gateway.url = f"ws://{place}{GATEWAY}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        self.faults.clear()
        self.gateway.drop()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead `phasewalk` in another process here, the token among them."""
        return {
            "DISCORD_TOKEN": self.world.token,
            "PHASEWALK_DISCORD_API": self.api,
            "PHASEWALK_DISCORD_GATEWAY": self.gateway_url,
        }

    def requests_to(self, method: str, path: str) -> list[Recorded]:
        """The requests so far of a method (`*` is any) to paths such as `/channels/*/messages`."""
        pattern = pattern_of(path)
        return [one for one in self.requests if method in ("*", one.method) and pattern.fullmatch(one.path)]

    def pinging(self) -> list[Recorded]:
        """The requests that wrote a message without saying who may be notified: each could notify everyone."""
        return [one for one in self.requests if one.pings_whom_it_likes]

    def hold(self, method: str, path: str, *, after: bool = True, times: int = 1) -> Hold:
        """Let matching requests stand: after they were accepted and before they are answered, or before both."""
        standing = Hold()
        self.faults.add(method, path, Fault(standing, after=after), times)
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
            given = await read(request)
            reason = request.headers.get("X-Audit-Log-Reason")
            reason = None if reason is None else unquote(reason)
            self._record(request, given, reason)
            if given.unreadable:
                return answer(400, {"code": 50109, "message": "The request body contains invalid JSON."})
            params = {**request.match_info, "gateway": self.gateway.url}
            call = Call(self.world, params, dict(request.query), given.body, given.files, reason)
            return await self._with_faults(request, call, endpoint, bucket)

        return serve

    def _record(self, request: web.Request, given: Given, reason: str | None) -> None:
        path, query, now = request.path.removeprefix(BASE), dict(request.query), self.world.clock()
        self.requests.append(Recorded(request.method, path, query, given.body, given.named, reason, now))
        self._bell.ring()

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        """The way to the gateway, which faults for `GET /gw/` can bar."""
        self._record(request, Given(None), None)
        fault = self.faults.take("GET", GATEWAY)
        barred = None if fault is None else await self._spoil(fault, request)
        return barred or await self.gateway.serve(request)

    async def _file(self, request: web.Request) -> web.Response:
        """What was attached to a message, as from Discord's file server."""
        self._record(request, Given(None), None)
        content = self.world.files.get(request.path)
        if content is None:
            return answer(404, "This content is no longer available.")
        kind = mimetypes.guess_type(request.path)[0] or "application/octet-stream"
        return web.Response(body=content, content_type=kind)

    async def _with_faults(self, request: web.Request, call: Call, endpoint: Endpoint, bucket: str) -> web.Response:
        path = request.path.removeprefix(BASE)
        fault = self.faults.take(request.method, path)
        if fault is not None and not fault.after:
            spoiled = await self._spoil(fault, request)
            if spoiled is not None:
                return spoiled
        handled = self._answer(request, call, endpoint, bucket)
        self._bell.ring()
        if fault is not None and fault.after:
            return await self._spoil(fault, request) or handled
        return handled

    async def _spoil(self, fault: Fault, request: web.Request) -> web.Response | None:
        """Let the fault happen; what it answers, if it answers."""
        match fault.what:
            case Refusal(status, body, headers):
                return answer(status, body, headers)
            case Reset():
                abort(request)
                return web.Response(status=500)
            case Wait(seconds):
                await self._pause(seconds)
            case Hold():
                standing = asyncio.ensure_future(fault.what.stand(request.path.removeprefix(BASE)))
                await asyncio.sleep(0)
                self._bell.ring()
                await standing
        return None

    async def _pause(self, seconds: float | None) -> None:
        """Wait, but not longer than the fake serves."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _answer(self, request: web.Request, call: Call, endpoint: Endpoint, bucket: str) -> web.Response:
        path = request.path.removeprefix(BASE)
        if endpoint is _unserved:
            self.unserved.append(f"{request.method} {path}")
        headers = limits(bucket)
        open_path = path.startswith(BY_TOKEN_OF_PATH)
        if not open_path and request.headers.get("Authorization") != f"Bot {self.world.token}":
            return answer(401, {"message": "401: Unauthorized", "code": 0}, headers)
        try:
            return answer(200, endpoint(call), headers)
        except ApiError as error:
            return answer(error.status, error.body, headers)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"the fake Discord cannot make sense of this request: {error!r}"
            return answer(400, {"code": 50035, "message": what}, headers)


def _unserved(_: Call) -> None:
    raise ApiError(404, 0, "404: Not Found")
