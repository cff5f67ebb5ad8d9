"""The client library itself, behind one method: send a body, get what came back.

Owns every use of `openai`. It is imported late, by whoever makes the first call, because importing takes half a
second. Invariant: the library never retries, reads no address from the environment, and never parses the body.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import openai

from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.provider import ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.openai_faults import Answered, Asked, status_fault

Call = Literal["chat", "responses", "picture", "edit"]


class Link:
    """An open client; `close` ends its connections."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        connect_timeout: float,
        read_timeout: float,
        now: Callable[[], float],
    ) -> None:
        """Time-outs and `now` in seconds, `now` since the epoch; `read_timeout` is per read, not per call."""
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key,
            timeout=openai.Timeout(read_timeout, connect=connect_timeout),
            max_retries=0,
        )
        self._now = now
        # Typed loosely, as are the bodies that the methods are given.
        self._methods: dict[Call, Any] = {}

    def is_ready(self, call: Call) -> bool:
        """Whether `prepare` has been called for it."""
        return call in self._methods

    def prepare(self, call: Call) -> None:
        """Make ready for calls of this sort; takes time: the library loads each resource on first touch."""
        match call:
            case "chat":
                self._methods[call] = self._client.chat.completions.with_raw_response.create
            case "responses":
                self._methods[call] = self._client.responses.with_raw_response.create
            case "picture":
                self._methods[call] = self._client.images.with_raw_response.generate
            case "edit":
                self._methods[call] = self._client.images.with_raw_response.edit

    async def send(self, call: Call, body: Mapping[str, object], asked: Asked) -> Answered:
        """What the provider answered, unjudged; raises `ProviderError` for error statuses and lost connections."""
        try:
            return _answered(await self._methods[call](**body))
        except openai.OpenAIError as error:
            raise fault_of(error, asked, self._now()) from error

    async def close(self) -> None:
        """Close the client; it cannot be used afterwards."""
        await self._client.close()


def _answered(response: Any) -> Answered:
    # JSON is UTF-8 whatever a header says; the bytes that are not are shown as replaced.
    text = response.content.decode("utf-8", "replace")
    return Answered(response.status_code, {name.lower(): value for name, value in response.headers.items()}, text)


def fault_of(error: BaseException, asked: Asked, now: float) -> ProviderError:
    """The failure that an error of the library means; an answer found among its causes decides (ENV-30)."""
    causes = list(_chain(error))
    for cause in causes:
        if isinstance(cause, openai.APIStatusError):
            return status_fault(asked, _answered(cause.response), now)
    if isinstance(error, openai.APITimeoutError):
        return asked.fault(FailureKind.TRANSIENT, Reason.TIMED_OUT, "no data came within the read time-out")
    what = " caused by ".join(f"{type(cause).__name__}: {cause}" for cause in causes)
    return asked.fault(FailureKind.TRANSIENT, Reason.CONNECTION_FAILED, f"the connection failed, {what}")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what it was raised from, each once."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
