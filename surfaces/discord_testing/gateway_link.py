"""One websocket of the gateway: frames out in order, compressed if the client asked for it.

Owns the writing. Knows nothing of sessions. Invariant: what is sent first arrives first, whoever sends it.
"""

import asyncio
import json
import socket
import struct
import zlib
from typing import Any

from aiohttp import web

from phasewalk.surfaces.discord_testing.values import Json

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, REQUEST_MEMBERS, INVALID, HELLO, ACK = 0, 1, 2, 6, 7, 8, 9, 10, 11
"""The gateway's operations."""


class Link:
    """A client's connection. `interval` is its heartbeat's, in seconds; other compression than zlib-stream is not
    spoken: such a client gets plain text, which is allowed at any time.
    """

    def __init__(self, request: web.Request, interval: float) -> None:
        self.interval = interval
        self.beaten: float | None = None
        self.closed_with: int | None = None
        self.session: str | None = None
        self._request = request
        self._socket = web.WebSocketResponse(max_msg_size=1 << 20)
        self._frames: asyncio.Queue[str | int] = asyncio.Queue()
        streamed = request.query.get("compress") == "zlib-stream"
        self._compressor = zlib.compressobj() if streamed else None

    async def open(self) -> web.WebSocketResponse:
        """Take the client in and say hello."""
        await self._socket.prepare(self._request)
        self.send(HELLO, {"heartbeat_interval": int(self.interval * 1000)})
        return self._socket

    def overdue(self, now: float) -> float:
        """By how many seconds a heartbeat at this time.monotonic() is later than the last one and the interval."""
        return 0.0 if self.beaten is None else now - self.beaten - self.interval

    def send(self, op: int, data: Any, *, number: int | None = None, name: str | None = None) -> None:
        """Send a frame."""
        self._frames.put_nowait(json.dumps({"op": op, "d": data, "s": number, "t": name}))

    def close(self, code: int) -> None:
        """Close, after what was sent before."""
        self.closed_with = code
        self._frames.put_nowait(code)

    def drop(self) -> None:
        """Break the connection without a word."""
        abort(self._request)

    async def write(self) -> None:
        """Send frames as they come, until the connection ends."""
        while isinstance(frame := await self._frames.get(), str):
            try:
                await self._write(frame)
            except ConnectionError:
                return
        await self._socket.close(code=frame)

    async def received(self) -> Json | None:
        """The next frame of the client; None when it has gone."""
        async for frame in self._socket:
            read: Json = json.loads(frame.data)
            return read
        return None

    @property
    def close_code(self) -> int | None:
        """With what the client closed, if it did."""
        return self._socket.close_code

    async def _write(self, frame: str) -> None:
        if self._compressor is None:
            await self._socket.send_str(frame)
            return
        packed = self._compressor.compress(frame.encode()) + self._compressor.flush(zlib.Z_SYNC_FLUSH)
        await self._socket.send_bytes(packed)


def abort(request: web.Request) -> None:
    """Close a connection so that the other side sees a reset, not an orderly end."""
    if request.transport is not None:
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.transport.abort()
