"""The port to models: what one is asked, what comes back, and how a provider says that it failed.

Whoever adds a provider implements `Provider` and is wired in `surfaces`. Owns no behaviour.
"""

from typing import Protocol

from attrs import frozen

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.errors import PhasewalkError
from phasewalk.machine.exchange import Exchange, ModelReply, Prompt
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Picture


@frozen
class ModelRequest:
    """One model call, the same for every provider; each writes it in its own way (CON-13).

    `reminder` is ours, not a person's: what an earlier answer of this turn left out (CON-27).
    """

    candidate: Candidate
    model: str
    prompt: Prompt
    exchanges: tuple[Exchange, ...]
    tools: tuple[ToolSchema, ...]
    turn_id: str
    kind: str = "user"
    speaks_to_bot: bool = True
    reminder: str = ""

    @property
    def source(self) -> str:
        """`provider/model`, as it stands in what this request brings back."""
        return f"{self.candidate.provider}/{self.model}"


class ProviderError(PhasewalkError):
    """How a provider says that a call failed; `kind` is a row of FB-13, `retry_after` in seconds.

    `response` is the body for the log, where there was one.
    """

    def __init__(
        self,
        kind: FailureKind,
        reason: Reason,
        message: str,
        *,
        http_status: int | None = None,
        retry_after: float | None = None,
        finish_reason: str | None = None,
        request_id: str | None = None,
        response: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.reason = reason
        self.message = message
        self.http_status = http_status
        self.retry_after = retry_after
        self.finish_reason = finish_reason
        self.request_id = request_id
        self.response = response


@frozen
class PictureRequest:
    """Pictures to make, or, with `images` (addresses, https or data), to change (ENV-26)."""

    provider: str
    model: str
    description: str
    count: int
    images: tuple[str, ...] = ()


class Provider(Protocol):
    """One way to reach models."""

    def request_text(self, request: ModelRequest) -> str:
        """The request as it will go out, as JSON text for the log; no secret is in it."""

    async def complete(self, request: ModelRequest) -> tuple[ModelReply, str]:
        """The reply and the response as text for the log; raises `ProviderError`."""

    async def pictures(self, request: PictureRequest) -> tuple[Picture, ...]:
        """The pictures; raises `ProviderError`, also where the provider makes none."""
