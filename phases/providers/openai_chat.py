"""The provider that speaks chat/completions, with OpenAI or any server that speaks it too.

Owns the order of a call: write the body, send it, judge what came back. Decides nothing about retries; the
library's own are off (ENV-12). Invariant: a call returns a usable reply or raises `ProviderError`.
"""

import asyncio
import json
from typing import TYPE_CHECKING

from phasewalk.machine.deadlines import Clock, SystemClock
from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.ports import ModelRequest, PictureRequest, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.turn import ModelReply, Picture
from phasewalk.phases.providers.openai_faults import Asked
from phasewalk.phases.providers.openai_reply import read_reply
from phasewalk.phases.providers.openai_wire import body_text

if TYPE_CHECKING:
    from phasewalk.phases.providers.openai_link import Link


class OpenAIChatProvider:
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

    def request_text(self, request: ModelRequest) -> str:
        """The body exactly as it goes out; the key travels in a header and is not in it."""
        return body_text(request)

    async def complete(self, request: ModelRequest) -> tuple[ModelReply, str]:
        """The reply and the whole body of the answer; raises `ProviderError`.

        Put a total limit around it: a body that arrives in drops never exceeds the read time-out.
        """
        asked = Asked(request.candidate.provider, request.model, self._api_key)
        link = await self._opened()
        answered = await link.post(json.loads(body_text(request)), asked)
        return read_reply(asked, answered), asked.clean(answered.text)

    async def pictures(self, request: PictureRequest) -> tuple[Picture, ...]:
        """The pictures; raises `ProviderError`."""
        raise ProviderError(FailureKind.PERMANENT, Reason.MISSING_CAPABILITY, f"{request.provider} makes no pictures")

    async def aclose(self) -> None:
        """End the connections; the next call opens new ones."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _opened(self) -> "Link":
        async with self._opening:
            if self._link is None:
                self._link = await asyncio.to_thread(self._open)
        return self._link

    def _open(self) -> "Link":
        """Import and open in a thread, so that the event loop serves meanwhile."""
        from phasewalk.phases.providers.openai_link import Link  # noqa: PLC0415 - importing it takes half a second

        return Link(
            self._base_url,
            self._api_key,
            connect_timeout=self._connect_timeout,
            read_timeout=self._read_timeout,
            now=lambda: self._clock.now_us() / 1_000_000,
        )
