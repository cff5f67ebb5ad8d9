"""A model server that answers from a script, over real sockets on loopback; for tests of whoever calls models.

Owns the serving of chat/completions, the Responses API and the image API, all from one script; what is answered are
the steps of `testing_steps`, which can be imported from here. Knows no client library. Invariant: each request is
recorded before it is answered. Runs in a process of its own too:
`python -m phasewalk.phases.providers.testing --script steps.json` prints its address on the first line.
"""

import argparse
import asyncio
import json
import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, assert_never

from attrs import frozen

from phasewalk.phases.providers.testing_steps import (
    Hang,
    Reply,
    Reset,
    Slow,
    Step,
    completion,
    envelope,
    hang,
    picture,
    raw,
    refusal,
    reset,
    reset_mid_body,
    responses,
    slow,
    status,
    step_of,
    step_on,
    tool_calls,
)

__all__ = [
    "Recorded",
    "ScriptedModelServer",
    "completion",
    "envelope",
    "hang",
    "picture",
    "raw",
    "refusal",
    "reset",
    "reset_mid_body",
    "responses",
    "slow",
    "status",
    "tool_calls",
]

PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/images/generations", "/v1/images/edits")


@frozen
class Recorded:
    """A request as it came: its headers by lower-case name, its body as bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.raw)


class ScriptedModelServer:
    """Answers request after request from `script`: steps in order, or a function of the request.

    `repeat_last` repeats the last step for ever; without it, what comes after the script gets a 500 that says so.
    """

    def __init__(
        self,
        script: Sequence[Step] | Callable[[Recorded], Step],
        *,
        repeat_last: bool = False,
        port: int = 0,
    ) -> None:
        """`port` 0 takes a free one. Nothing listens before `async with`."""
        self.requests: list[Recorded] = []
        self.base_url = ""
        self._script = script
        self._repeat_last = repeat_last
        self._port = port
        self._server: asyncio.Server | None = None
        self._writers: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._writers.values():
            writer.transport.abort()
        await asyncio.gather(*self._writers, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._writers[task] = writer
        task.add_done_callback(lambda done: self._writers.pop(done, None))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection: it is closed after its answer."""
        try:
            request = await _read(reader)
            step = self._step(request)
            left = asyncio.ensure_future(reader.read())
            try:
                await _perform(step_on(step, request.path), writer, left, f"req-{len(self.requests)}")
            finally:
                left.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the client has gone, or is none: there is nobody to tell
        finally:
            writer.close()

    def _step(self, request: Recorded) -> Step:
        if request.method != "POST" or request.path not in PATHS:
            served = ", ".join(PATHS)
            return status(404, message=f"{request.method} {request.path} is not served; POST {served} are")
        self.requests.append(request)
        if not isinstance(self._script, Sequence):
            return self._script(request)
        number = len(self.requests) - 1
        if number < len(self._script):
            return self._script[number]
        if self._repeat_last and self._script:
            return self._script[-1]
        return status(500, message=f"the script ended after {len(self._script)} steps", error_code="script_ended")


async def _read(reader: asyncio.StreamReader) -> Recorded:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", "0"))
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise ConnectionError("what came is no HTTP request") from error
    return Recorded(method, path, headers, await reader.readexactly(length))


async def _perform(step: Step, writer: asyncio.StreamWriter, left: "asyncio.Future[bytes]", request_id: str) -> None:
    """Do one step; `left` is done when the client has hung up."""
    match step:
        case Reply():
            writer.write(_head(step, request_id) + step.body)
            await writer.drain()
        case Hang():
            await left
        case Reset():
            if step.after is not None:
                writer.write(_head(step.reply, request_id) + step.reply.body[: int(len(step.reply.body) * step.after)])
                await writer.drain()
            _reset(writer)
        case Slow():
            await _drip(step, writer, left, request_id)
        case _:
            assert_never(step)


def _head(reply: Reply, request_id: str) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status} Scripted",
        f"content-type: {reply.content_type}",
        f"content-length: {len(reply.body)}",
        f"x-request-id: {request_id}",
        "connection: close",
        *(f"{name}: {value}" for name, value in reply.headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the other side sees a reset, not an orderly end."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _drip(step: Slow, writer: asyncio.StreamWriter, left: "asyncio.Future[bytes]", request_id: str) -> None:
    await asyncio.wait({left}, timeout=step.first_byte)
    writer.write(_head(step.reply, request_id))
    for byte in step.reply.body:
        if left.done():
            return
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.wait({left}, timeout=step.per_byte)


async def _serve_for_ever(steps: Sequence[Step], port: int, *, repeat_last: bool) -> None:
    async with ScriptedModelServer(steps, repeat_last=repeat_last, port=port) as server:
        sys.stdout.write(server.base_url + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Serve a script file until the process is ended."""
    parser = argparse.ArgumentParser(description="A model server that answers from a script, on 127.0.0.1.")
    parser.add_argument("--script", type=Path, required=True, help="JSON file with a list of steps")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--repeat-last", action="store_true", help="repeat the last step for ever")
    given = parser.parse_args()
    steps = [step_of(described) for described in json.loads(given.script.read_text(encoding="utf-8"))]
    asyncio.run(_serve_for_ever(steps, given.port, repeat_last=given.repeat_last))


if __name__ == "__main__":
    main()
