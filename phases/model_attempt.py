"""Phase `model_attempt`: one model call, of one candidate, for whatever reason the table gives.

Owns the walk over candidates that must be skipped, the total limit around the call, and the rows of `attempt`
and `fallback_step`. Whether a failure is followed by a retry, a fallback or a stop is not decided here: the
guards of the table ask the one decision (FB-04).
"""

import asyncio

from attrs import evolve, frozen

from phasewalk.machine.candidates import Candidate, Skip, skip_of
from phasewalk.machine.contract import Contract, tools_offered
from phasewalk.machine.deadlines import CancelledByWorkError, LimitPassedError, within
from phasewalk.machine.documents import digest_of, json_of, payload_of
from phasewalk.machine.fallback import Failure, FailureKind, Progress, advanced
from phasewalk.machine.limits import MODEL_CALL_FLOOR
from phasewalk.machine.outcomes import no_candidate_reason
from phasewalk.machine.phase import Opening, Phase, Report
from phasewalk.machine.ports import ModelRequest, Ports, Provider, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import AttemptEnded, AttemptStarted, FallbackConsidered, Record
from phasewalk.machine.text import told
from phasewalk.machine.turn import ModelReply, ToolCall, Turn, identical_calls
from phasewalk.machine.words import MODEL_ATTEMPT, Cause, Decision


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


@frozen
class _Chosen:
    """The candidate to ask, or none; with the rows of what was considered on the way."""

    candidate: Candidate | None
    progress: Progress
    rows: tuple[Record, ...]
    skipped: tuple[str, ...]
    expired: bool = False


async def model_attempt(turn: Turn, ports: Ports) -> Report:
    """Report `output_received`, `tools_requested`, `attempt_failed`, `no_candidate` or `deadline_passed`."""
    if turn.progress.delay > 0:
        await ports.clock.sleep(turn.progress.delay)
    chosen = _choose(turn, ports)
    if chosen.expired:
        changes = {"progress": chosen.progress, "skipped": chosen.skipped}
        return Report("deadline_passed", changes, Reason.DEADLINE_PASSED, records=chosen.rows)
    if chosen.candidate is None:
        changes = {"progress": chosen.progress, "skipped": chosen.skipped}
        reason = no_candidate_reason(turn.failure, chosen.skipped)
        return Report("no_candidate", changes, reason, records=chosen.rows)
    return await _attempt(turn, ports, chosen, chosen.candidate)


def _choose(turn: Turn, ports: Ports) -> _Chosen:
    """The first candidate from the present one on that can be asked; the clock is read before each (TURN-06)."""
    contract, progress = _contract_of(turn), turn.progress
    new = turn.cause in (None, Cause.FIRST, Cause.FALLBACK)
    rows: list[Record] = []
    skipped = list(turn.skipped)
    for index in range(progress.candidate, len(contract.candidates)):
        candidate = contract.candidates[index]
        time_left = turn.deadline - ports.clock.monotonic()
        if time_left <= 0:
            return _Chosen(None, progress, tuple(rows), tuple(skipped), expired=True)
        needed = turn.prompt.estimated_tokens if turn.prompt else 0
        skip = skip_of(candidate, contract.capabilities, needed)
        progress = evolve(progress, candidate=index)
        if skip is None:
            if new or index > turn.progress.candidate:
                rows.append(_taken(candidate, progress, time_left, ports))
                progress = evolve(progress, considered=progress.considered + 1)
            return _Chosen(candidate, progress, tuple(rows), tuple(skipped))
        rows.append(_skipped(skip, progress, time_left, ports))
        skipped.append(skip.reason)
        progress = evolve(progress, considered=progress.considered + 1)
    return _Chosen(None, progress, tuple(rows), tuple(skipped))


async def _attempt(turn: Turn, ports: Ports, chosen: _Chosen, candidate: Candidate) -> Report:
    progress = evolve(chosen.progress, calls=chosen.progress.calls + 1, delay=0.0)
    ports.keep(progress=progress, skipped=chosen.skipped)
    request = _request(turn, candidate, progress)
    provider = ports.providers[candidate.provider]
    await ports.log.write(*chosen.rows, _started(turn, request, provider, progress, ports))
    limit = ports.clock.monotonic() + max(turn.limits.model_call, MODEL_CALL_FLOOR)
    try:
        reply, raw = await within(provider.complete(request), limit, ports.clock, cleanup=turn.limits.cleanup)
    except asyncio.CancelledError:
        await ports.log.describe(_stopped(turn, progress, ports))
        raise
    except Exception as error:  # noqa: BLE001 - whatever comes out of the provider port is a failed attempt (FB-13)
        return _failed(turn, ports, request, progress, _as_provider_error(error, turn))
    ended = AttemptEnded(
        n=progress.calls,
        status="ok",
        reason=None,
        ended_us=ports.clock.now_us(),
        finish_reason=reply.finish_reason,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        request_id=reply.request_id,
        response=payload_of(raw),
    )
    changes = {"progress": progress, "reply": evolve(_numbered(reply, turn), source=request.source)}
    event = "tools_requested" if reply.calls else "output_received"
    return Report(event, changes, records=(ended,))


def _request(turn: Turn, candidate: Candidate, progress: Progress) -> ModelRequest:
    if turn.prompt is None:
        raise AssertionError("model_attempt needs a prompt")
    contract = _contract_of(turn)
    retrying = progress.on_retry_model and candidate.retry_model
    return ModelRequest(
        candidate=candidate,
        model=candidate.retry_model or candidate.model if retrying else candidate.model,
        prompt=turn.prompt,
        exchanges=turn.exchanges,
        tools=tuple(contract.schema_of[name] for name in turn.offered),
        turn_id=turn.turn_id,
        kind=turn.kind,
        speaks_to_bot=turn.trigger.speaks_to_bot,
    )


def _started(turn: Turn, request: ModelRequest, provider: Provider, progress: Progress, ports: Ports) -> AttemptStarted:
    """The row of an attempt."""
    return AttemptStarted(
        n=progress.calls,
        cause=turn.cause or Cause.FIRST,
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
    message = told(error.message)
    failure = Failure(
        kind=error.kind,
        reason=error.reason,
        message=message,
        phase=MODEL_ATTEMPT,
        provider=candidate.provider,
        model=request.model,
        http_status=error.http_status,
        retry_after=error.retry_after,
        safety_final=candidate.safety_final,
        jitter=ports.ids.fraction(),
    )
    ended = AttemptEnded(
        n=progress.calls,
        status="failed",
        reason=error.reason,
        ended_us=ports.clock.now_us(),
        http_status=error.http_status,
        retry_after_ms=None if error.retry_after is None else int(error.retry_after * 1000),
        finish_reason=error.finish_reason,
        request_id=error.request_id,
        message=message,
        response=payload_of(error.response) if error.response else None,
    )
    changes = {"progress": progress, "failure": failure, "first_failure": turn.first_failure or failure}
    return Report("attempt_failed", changes, error.reason, records=(ended,))


def _numbered(reply: ModelReply, turn: Turn) -> ModelReply:
    """The reply with our own ids on its calls: two calls with one id of the provider's stay two (CON-21)."""
    before = sum(len(exchange.calls) for exchange in turn.exchanges)
    calls = tuple(
        ToolCall(f"call-{before + index}", call.provider_id, call.name, call.arguments)
        for index, call in enumerate(reply.calls, 1)
    )
    return evolve(reply, calls=calls)


def _label(cause: Cause | None, before: Progress, after: Progress) -> Cause:
    if cause is Cause.RETRY and after.on_retry_model and not before.on_retry_model:
        return Cause.RETRY_MODEL
    return cause or Cause.FIRST


def _taken(candidate: Candidate, progress: Progress, time_left: float, ports: Ports) -> FallbackConsidered:
    return FallbackConsidered(
        step=progress.considered + 1,
        at_us=ports.clock.now_us(),
        provider=candidate.provider,
        model=candidate.model,
        decision=Decision.TAKEN,
        reason=Reason.OK,
        rule="FB-10: next in order",
        values=json_of({"time_left": round(time_left, 1)}),
    )


def _skipped(skip: Skip, progress: Progress, time_left: float, ports: Ports) -> FallbackConsidered:
    return FallbackConsidered(
        step=progress.considered + 1,
        at_us=ports.clock.now_us(),
        provider=skip.candidate.provider,
        model=skip.candidate.model,
        decision=Decision.SKIPPED,
        reason=skip.reason,
        rule="FB-11: cannot be asked",
        values=json_of({**skip.values, "time_left": round(time_left, 1)}),
    )


def _contract_of(turn: Turn) -> Contract:
    if turn.contract is None:
        raise AssertionError("model_attempt needs a contract")
    return turn.contract


PHASE = Phase(
    MODEL_ATTEMPT,
    model_attempt,
    {"output_received", "tools_requested", "attempt_failed", "no_candidate", "deadline_passed"},
    {"progress", "offered", "cause", "skipped", "reply", "failure", "first_failure"},
    opening,
)
