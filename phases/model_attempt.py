"""Phase `model_attempt`: one model call, of one candidate, for whatever reason the table gives.

Owns the total limit around the call and the rows of `attempt`. Who is asked is the affair of `choosing`; whether
a failure is followed by a retry, a fallback or a stop is not decided here: the guards of the table ask the one
decision (FB-04).
"""

import asyncio
from collections.abc import Callable

from attrs import evolve

from phasewalk.machine.candidates import Candidate, model_for
from phasewalk.machine.contract import Contract, tools_offered
from phasewalk.machine.deadlines import CancelledByWorkError, LimitPassedError, within
from phasewalk.machine.documents import digest_of, payload_of
from phasewalk.machine.exchange import ModelReply, ToolCall
from phasewalk.machine.fallback import Failure, FailureKind, Progress, advanced
from phasewalk.machine.limits import MODEL_CALL_FLOOR
from phasewalk.machine.outcomes import no_candidate_reason
from phasewalk.machine.phase import Opening, Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.provider import ModelRequest, Provider, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import AttemptEnded, AttemptStarted
from phasewalk.machine.text import storable, told
from phasewalk.machine.turn import Turn, identical_calls
from phasewalk.machine.words import MODEL_ATTEMPT, Cause
from phasewalk.phases.choosing import Chosen, choose
from phasewalk.phases.outgoing import without_secrets

LARGEST = 1 << 63
"""The log holds smaller integers."""

FACTUAL = frozenset({"search_browser", "research", "history"})
"""Families whose turns ask a candidate's factual model (ENV-22)."""


def opening(turn: Turn) -> Opening:
    """What the visit starts with: the progress that its cause means, and the tools that the call will carry."""
    contract = _contract_of(turn)
    progress = advanced(
        turn.cause,
        turn.progress,
        failure=turn.failure,
        effects=turn.effects,
        candidates=contract.candidates,
        limits=turn.limits,
    )
    offered = tools_offered(contract, progress, turn.effects, identical_calls=identical_calls(turn))
    cause = _label(turn.cause, turn.progress, progress)
    return Opening(
        changes={"progress": progress, "offered": offered, "cause": cause},
        detail={"cause": cause, "tools_offered": offered}
        | ({"delay": round(progress.delay, 3)} if progress.delay else {}),
    )


async def model_attempt(turn: Turn, ports: Ports) -> Report:
    """Report `output_received`, `tools_requested`, `attempt_failed`, `no_candidate` or `deadline_passed`."""
    if turn.progress.delay > 0:
        await ports.clock.sleep(turn.progress.delay)
    chosen = await choose(turn, _contract_of(turn), ports)
    if chosen.expired:
        return Report("deadline_passed", chosen.changes(), Reason.DEADLINE_PASSED, records=chosen.rows)
    if chosen.candidate is None:
        reason = no_candidate_reason(turn.failure, chosen.skipped)
        return Report("no_candidate", chosen.changes(), reason, records=chosen.rows)
    return await _attempt(turn, ports, chosen, chosen.candidate)


async def _attempt(turn: Turn, ports: Ports, chosen: Chosen, candidate: Candidate) -> Report:
    progress = evolve(chosen.progress, calls=chosen.progress.calls + 1, delay=0.0)
    ports.keep(**{**chosen.changes(), "progress": progress, "asking": candidate.provider})
    request = _request(turn, candidate, progress, ports.settings.redact)
    provider = ports.providers[candidate.provider]
    try:
        await ports.log.write(*chosen.rows, _started(turn, request, provider, progress, ports))
        return await _ask(turn, ports, request, provider, progress)
    except asyncio.CancelledError:
        await ports.log.describe(_stopped(turn, progress, ports))
        raise
    except Exception:
        await ports.log.describe(_crashed(progress, ports))
        raise


async def _ask(turn: Turn, ports: Ports, request: ModelRequest, provider: Provider, progress: Progress) -> Report:
    """One call of the provider, up to its limit; whatever comes of it is reported."""
    limit = ports.clock.monotonic() + max(turn.limits.model_call, MODEL_CALL_FLOOR)
    try:
        reply, raw = await within(provider.complete(request), limit, ports.clock, cleanup=turn.limits.cleanup)
    except Exception as error:  # noqa: BLE001 - whatever comes out of the provider port is a failed attempt (FB-13)
        return _failed(turn, ports, request, progress, _as_provider_error(error, turn))
    ended = AttemptEnded(
        n=progress.calls,
        status="ok",
        reason=None,
        ended_us=ports.clock.now_us(),
        finish_reason=_storable(reply.finish_reason),
        input_tokens=_counted(reply.input_tokens),
        output_tokens=_counted(reply.output_tokens),
        request_id=_storable(reply.request_id),
        response=payload_of(raw),
    )
    changes: dict[str, object] = {
        "progress": evolve(progress, tool_calls=progress.tool_calls + len(reply.calls)),
        "asking": "",
        "reply": evolve(_numbered(reply, progress.tool_calls), source=request.source),
    }
    event = "tools_requested" if reply.calls else "output_received"
    return Report(event, changes, records=(ended,))


def _request(turn: Turn, candidate: Candidate, progress: Progress, redact: Callable[[str], str]) -> ModelRequest:
    if turn.prompt is None:
        raise AssertionError("model_attempt needs a prompt")
    contract = _contract_of(turn)
    if turn.offered:
        contract.check()
    schemas = contract.schema_of
    model = model_for(
        candidate,
        on_retry_model=progress.on_retry_model,
        images=bool(turn.prompt.images),
        factual=not FACTUAL.isdisjoint(contract.families),
    )
    return ModelRequest(
        candidate=candidate,
        model=model,
        prompt=turn.prompt,
        exchanges=without_secrets(turn.exchanges, redact),
        tools=tuple(schemas[name] for name in turn.offered),
        turn_id=turn.turn_id,
        kind=turn.kind,
        speaks_to_bot=turn.trigger.speaks_to_bot,
        reminder=turn.reminder,
    )


def _started(turn: Turn, request: ModelRequest, provider: Provider, progress: Progress, ports: Ports) -> AttemptStarted:
    """The row of an attempt."""
    return AttemptStarted(
        n=progress.calls,
        cause=Cause.PROBE if progress.probing else turn.cause or Cause.FIRST,
        provider=request.candidate.provider,
        model=request.model,
        api=request.candidate.api,
        started_us=ports.clock.now_us(),
        request_digest=digest_of(provider.request_text(request)),
    )


def _stopped(turn: Turn, progress: Progress, ports: Ports) -> AttemptEnded:
    """The attempt's row when the turn is stopped under it: past the deadline the provider is to blame (TURN-06)."""
    expired = ports.clock.monotonic() >= turn.deadline
    return AttemptEnded(
        n=progress.calls,
        status="failed" if expired else "cancelled",
        reason=Reason.TIMED_OUT if expired else Reason.CANCELLED,
        ended_us=ports.clock.now_us(),
        message="no answer before the turn's deadline" if expired else "the turn was cancelled",
    )


def _crashed(progress: Progress, ports: Ports) -> AttemptEnded:
    """The attempt's row when something of ours failed under it."""
    return AttemptEnded(
        n=progress.calls,
        status="failed",
        reason=Reason.INTERNAL_ERROR,
        ended_us=ports.clock.now_us(),
        message="an error of our own ended the attempt",
    )


def _storable(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _counted(number: int | None) -> int | None:
    """A number that a provider tells, where the log can hold it (LOG-05)."""
    return number if number is not None and abs(number) < LARGEST else None


def _wait(seconds: float | None) -> float | None:
    """What a provider asks to wait, where that is a time (ENV-12)."""
    return seconds if seconds is not None and 0 <= seconds < LARGEST / 1000 else None


def _as_provider_error(error: Exception, turn: Turn) -> ProviderError:
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, LimitPassedError):
        limit = max(turn.limits.model_call, MODEL_CALL_FLOOR)
        return ProviderError(FailureKind.TRANSIENT, Reason.TIMED_OUT, f"no complete answer within {limit:g} s")
    if isinstance(error, CancelledByWorkError):
        return ProviderError(FailureKind.TRANSIENT, Reason.CONNECTION_FAILED, "the call ended by itself")
    message = f"{type(error).__name__}: {error}"
    return ProviderError(FailureKind.UNUSABLE, Reason.MALFORMED_RESPONSE, message)


def _failed(
    turn: Turn,
    ports: Ports,
    request: ModelRequest,
    progress: Progress,
    error: ProviderError,
) -> Report:
    candidate = request.candidate
    message, retry_after = told(error.message), _wait(error.retry_after)
    failure = Failure(
        kind=error.kind,
        reason=error.reason,
        message=message,
        phase=MODEL_ATTEMPT,
        provider=candidate.provider,
        model=request.model,
        http_status=error.http_status,
        retry_after=retry_after,
        safety_final=candidate.safety_final,
        jitter=ports.ids.fraction(),
    )
    ended = AttemptEnded(
        n=progress.calls,
        status="failed",
        reason=error.reason,
        ended_us=ports.clock.now_us(),
        http_status=_counted(error.http_status),
        retry_after_ms=None if retry_after is None else int(retry_after * 1000),
        finish_reason=_storable(error.finish_reason),
        request_id=_storable(error.request_id),
        message=message,
        response=payload_of(error.response) if error.response else None,
    )
    changes: dict[str, object] = {"progress": progress, "asking": "", "failure": failure}
    changes["first_failure"] = turn.first_failure or failure
    return Report("attempt_failed", changes, error.reason, records=(ended,))


def _numbered(reply: ModelReply, before: int) -> ModelReply:
    """The reply with our own ids on its calls: two calls with one id of the provider's stay two (CON-21)."""
    calls = tuple(
        ToolCall(f"call-{before + index}", call.provider_id, call.name, call.arguments)
        for index, call in enumerate(reply.calls, 1)
    )
    return evolve(reply, calls=calls)


def _label(cause: Cause | None, before: Progress, after: Progress) -> Cause:
    if cause is Cause.RETRY and after.on_retry_model and not before.on_retry_model:
        return Cause.RETRY_MODEL
    return cause or Cause.FIRST


def _contract_of(turn: Turn) -> Contract:
    if turn.contract is None:
        raise AssertionError("model_attempt needs a contract")
    return turn.contract


PHASE = Phase(
    MODEL_ATTEMPT,
    model_attempt,
    {"output_received", "tools_requested", "attempt_failed", "no_candidate", "deadline_passed"},
    {"progress", "offered", "cause", "skipped", "admitted", "asking", "reply", "failure", "first_failure"},
    opening,
)
