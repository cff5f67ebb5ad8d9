"""The provider that speaks OpenAI's APIs, with OpenAI or any server that speaks them too.

Owns the order of a call: write the body, send it, judge what came back. Which of the two APIs for text a call goes
to is said by its candidate (ENV-22). Decides nothing about retries; the library's own are off (ENV-12).
Invariant: a call returns a usable reply or raises `ProviderError`.
"""

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import frozen

from phasewalk.machine.deadlines import Clock, SystemClock
from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.exchange import ModelReply
from phasewalk.machine.provider import ModelRequest, PictureRequest
from phasewalk.machine.speech import Picture
from phasewalk.phases.providers import openai_chat_wire, openai_responses_wire
from phasewalk.phases.providers.openai_chat_reply import read_reply as read_chat
from phasewalk.phases.providers.openai_faults import Answered, Asked
from phasewalk.phases.providers.openai_pictures import picture_body, read_pictures
from phasewalk.phases.providers.openai_responses_reply import read_reply as read_response

if TYPE_CHECKING:
    from phasewalk.phases.providers.openai_link import Call, Link
    from phasewalk.phases.providers.openai_uploads import Images


@frozen
class Api:
    """How one of the APIs for text is spoken."""

    call: "Call"
    write: Callable[[ModelRequest], str]
    read: Callable[[Asked, Answered, float], ModelReply]


_CHAT = Api("chat", openai_chat_wire.body_text, read_chat)
_RESPONSES = Api("responses", openai_responses_wire.body_text, read_response)


def api_of(request: ModelRequest) -> Api:
    """The API that a call goes to, by its candidate."""
    return _RESPONSES if request.candidate.api == "responses" else _CHAT


class OpenAIProvider:
    """Implements the port `Provider`."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        connect_timeout: float = 10.0,
        read_timeout: float = 300.0,
        clock: Clock | None = None,
    ) -> None:
        """`base_url` up to and with `/v1`; time-outs in seconds, `read_timeout` per read, not per call.

        Raises `ConfigurationError` for an address or a key that cannot work. Nothing is opened yet.
        """
        if not base_url.startswith(("http://", "https://")):
            raise ConfigurationError(
                f"base-url is {base_url!r}; an address that begins with https:// or http:// is due"
            )
        if not api_key.isascii() or not api_key.isprintable() or not api_key.strip() or " " in api_key:
            raise ConfigurationError(f"the key for {base_url} is empty or holds blanks, controls or non-ASCII letters")
        self._base_url = base_url
        self._api_key = api_key
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._clock: Clock = clock or SystemClock()
        self._opening = asyncio.Lock()
        self._link: Link | None = None
        self._images: Images | None = None

    def request_text(self, request: ModelRequest) -> str:
        """The body exactly as it goes out; the key travels in a header and is not in it."""
        return api_of(request).write(request)

    async def complete(self, request: ModelRequest) -> tuple[ModelReply, str]:
        """The reply and the whole body of the answer; raises `ProviderError`.

        Put a total limit around it: a body that arrives in drops never exceeds the read time-out.
        """
        api, asked = api_of(request), Asked(request.candidate.provider, request.model, self._api_key)
        link = await self._opened(api.call)
        answered = await link.send(api.call, json.loads(api.write(request)), asked)
        return api.read(asked, answered, self._now()), asked.clean(answered.text)

    async def pictures(self, request: PictureRequest) -> tuple[Picture, ...]:
        """The pictures, made or, where images are given, changed (ENV-26); raises `ProviderError`.

        At most as many as were asked for. Put a total limit around it.
        """
        asked, body = Asked(request.provider, request.model, self._api_key), picture_body(request)
        call: Call = "edit" if request.images else "picture"
        link = await self._opened(call)
        if request.images:
            files = await (await self._fetcher()).files(request.images, asked)
            body["image"] = files if len(files) > 1 else files[0]  # not every server knows lists
        return read_pictures(asked, await link.send(call, body, asked), self._now(), request.count)

    async def aclose(self) -> None:
        """End the connections; the next call opens new ones."""
        link, self._link = self._link, None
        images, self._images = self._images, None
        if link is not None:
            await link.close()
        if images is not None:
            await images.close()

    def _now(self) -> float:
        """Seconds since the epoch, to compare dates of answers with."""
        return self._clock.now_us() / 1_000_000

    async def _opened(self, call: "Call") -> "Link":
        """The link, ready for this call; whatever that takes is done in a thread, the event loop serves meanwhile."""
        async with self._opening:
            if self._link is None:
                self._link = await asyncio.to_thread(self._open)
            if not self._link.is_ready(call):
                await asyncio.to_thread(self._link.prepare, call)
            return self._link

    def _open(self) -> "Link":
        from phasewalk.phases.providers.openai_link import Link  # noqa: PLC0415 - importing it takes half a second

        return Link(
            self._base_url,
            self._api_key,
            connect_timeout=self._connect_timeout,
            read_timeout=self._read_timeout,
            now=self._now,
        )

    async def _fetcher(self) -> "Images":
        async with self._opening:
            if self._images is None:
                self._images = await asyncio.to_thread(self._open_images)
            return self._images

    def _open_images(self) -> "Images":
        from phasewalk.phases.providers.openai_uploads import Images  # noqa: PLC0415 - imports an HTTP client

        return Images()
