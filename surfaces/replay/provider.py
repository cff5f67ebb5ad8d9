"""The model's side of a replay: each call is answered with what was recorded for it, read by today's code.

Owns how a recorded answer becomes a reply or a failure again. Opens nothing and asks nobody; only the embedded rules
decide anew, since they are part of this program and of the configuration. Invariant: a call that was not recorded, or
of another model, is not answered.
"""

from typing import Any, NoReturn

from attrs import frozen

from phasewalk.machine.exchange import ModelReply
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.provider import ModelRequest, PictureRequest, Provider, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Picture
from phasewalk.phases.providers.openai_client import api_of
from phasewalk.phases.providers.openai_faults import Answered, Asked, status_fault
from phasewalk.storage.recorded_turn import Attempt
from phasewalk.surfaces.replay.script import Script

OK = 200
UNRECORDED = ProviderError(FailureKind.BUG, Reason.INTERNAL_ERROR, "not recorded")
TOO_LATE = "no complete answer within "
GIVEN_UP = (TOO_LATE, "no answer before the turn's deadline", "the turn was cancelled")
"""How the message of a call begins that was given up by us."""


@frozen
class RecordedProvider:
    """Implements `Provider` for one walk; `rules` is the embedded model where this provider is one."""

    script: Script
    rules: Provider | None = None

    def request_text(self, request: ModelRequest) -> str:
        """The request as today's code writes it."""
        return self.rules.request_text(request) if self.rules else api_of(request).write(request)

    async def complete(self, request: ModelRequest) -> tuple[ModelReply, str]:
        """What was answered then."""
        script, limit = self.script, self.script.call_limit()
        attempt = script.next_attempt()
        asks = f"{request.candidate.provider}/{request.model}"
        if attempt is None or (attempt.provider, attempt.model) != (request.candidate.provider, request.model):
            was = f"{attempt.provider}/{attempt.model}" if attempt else "no further model call"
            self._leave("model call", was, asks, f"what {asks} would have answered was not recorded")
        if _was_given_up(attempt):
            stopped = not _came_too_late(attempt)
            said = f"{asks} {attempt.status} {attempt.reason}"
            await script.hang("model call", said, attempt.ended_us, stopped=stopped)
            raise UNRECORDED
        if attempt.status == "running" or attempt.reason == Reason.INTERNAL_ERROR:
            why = f"how the model call {attempt.n} ended was not recorded"
            self._leave("model call", f"{asks} {attempt.status}", asks, why, untold=True)
        if self.rules is not None:
            return await self.rules.complete(request)
        await script.finished(attempt.ended_us, limit)
        return self._answered(request, attempt)

    async def pictures(self, request: PictureRequest) -> tuple[Picture, ...]:
        """Pictures without a byte where some were delivered; else what kept them from being made."""
        made = next((e for e in self.script.record.effects if e.kind == "picture"), None)
        if made is None:
            asks = f"pictures of {request.provider}/{request.model}"
            self._leave("delivery", "no pictures", asks, "what the image API would have made was not recorded")
        if made.settled is None:
            await self.script.hang("delivery", "pictures that never came", made.settled_us)
        await self.script.finished(made.settled_us)
        if made.settled == "failed":
            reason, told = str(made.detail.get("reason")), str(made.detail.get("error"))
            raise ProviderError(FailureKind.TRANSIENT, Reason(reason), told)
        return (Picture(b""),)

    def _leave(self, section: str, was: object, now: object, why: str, *, untold: bool = False) -> NoReturn:
        self.script.leave(section, was, now, why, untold=untold)
        raise UNRECORDED

    def _answered(self, request: ModelRequest, attempt: Attempt) -> tuple[ModelReply, str]:
        """The recorded answer, judged by today's code."""
        if attempt.http_status is None and attempt.status != "ok":
            raise self._typed(attempt)
        body = attempt.response.body if attempt.response else ""
        asked = Asked(request.candidate.provider, request.model, "")
        if body is None:
            why = f"the answer of model call {attempt.n} ({request.source}) was pruned"
            self._leave("model call", "a pruned answer", request.source, why, untold=True)
        answered = Answered(attempt.http_status or OK, self._headers(attempt), body)
        now = self.script.clock.now_us() / 1e6
        if answered.status != OK:
            raise status_fault(asked, answered, now)
        return api_of(request).read(asked, answered, now), body

    def _headers(self, attempt: Attempt) -> dict[str, str]:
        wait = self._failure().get("retry_after")
        said = {"x-request-id": attempt.request_id, "retry-after-ms": None if wait is None else f"{wait * 1000:.9f}"}
        return {name: value for name, value in said.items() if value is not None}

    def _typed(self, attempt: Attempt) -> ProviderError:
        """A failure without an answer, as it was typed."""
        failure = self._failure()
        return ProviderError(
            FailureKind(failure.get("kind", FailureKind.TRANSIENT)),
            Reason(attempt.reason or Reason.CONNECTION_FAILED),
            attempt.message or "",
            retry_after=failure.get("retry_after"),
        )

    def _failure(self) -> dict[str, Any]:
        """The failure with which the recorded visit ended."""
        found = self.script.stay.detail.get("failure")
        return found if isinstance(found, dict) else {}


def _was_given_up(attempt: Attempt) -> bool:
    return attempt.status == "cancelled" or (attempt.message or "").startswith(GIVEN_UP)


def _came_too_late(attempt: Attempt) -> bool:
    """Whether it was given up for its own limit, and not with the turn."""
    return (attempt.message or "").startswith(TOO_LATE)
