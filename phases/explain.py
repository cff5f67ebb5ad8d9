"""Explains where fallback ended: the rows of `fallback_step` for the last failure of a turn (FB-14).

Asked by the runner at every step; answers only where a failed attempt is followed by no further one.
"""

from phasewalk.machine.contract import Contract
from phasewalk.machine.definition import Stepped
from phasewalk.machine.documents import json_of
from phasewalk.machine.engine import GuardAsked, Step
from phasewalk.machine.fallback import Failure, allowance
from phasewalk.machine.outcomes import stop_of
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import FallbackConsidered, Record
from phasewalk.machine.words import MODEL_ATTEMPT, Decision
from phasewalk.phases.circuits import circuit_notes


def explain(seen: Stepped) -> tuple[Record, ...]:
    """What a step means beyond itself: where fallback ended and why, and what the asked provider's circuit learns."""
    return (*explain_stop(seen), *circuit_notes(seen))


def explain_stop(seen: Stepped) -> tuple[Record, ...]:
    """One row saying why nothing else was tried: `refused` by a guard, or `exhausted` for want of candidates."""
    turn, step = seen.turn, seen.step
    failure, contract = turn.failure, turn.contract
    if seen.event == "deadline_passed" and seen.phase == MODEL_ATTEMPT and contract is not None:
        return _stopped_by_deadline(seen, contract)
    if seen.event == "no_candidate" and failure is not None and turn.progress.calls:
        return _nobody_left(seen, failure)
    if not seen.leaves or failure is None or contract is None:
        return ()
    time_left = turn.deadline - seen.now
    allowed = allowance(
        failure,
        turn.effects,
        contract.candidates,
        progress=turn.progress,
        limits=turn.limits,
        time_left=time_left,
    )
    stop = stop_of(turn, seen.phase, seen.event, failure.reason)
    refused = _deciding_guard(step)
    exhausted = (refused is None or refused["name"] == "candidate_left") and not turn.progress.last_try
    candidate = contract.candidates[turn.progress.candidate]
    following = allowed.next_candidate
    return (
        FallbackConsidered(
            step=turn.progress.considered + 1,
            at_us=seen.now_us,
            provider=following.provider if following else candidate.provider,
            model=following.model if following else candidate.model,
            decision=Decision.EXHAUSTED if exhausted else Decision.REFUSED,
            reason=stop.reason if stop else Reason.CANDIDATES_EXHAUSTED,
            rule=f"{refused['transition']}.{refused['name']}: {allowed.rule.name}" if refused else allowed.rule.name,
            values=json_of({**allowed.values, "failure": failure.reason, **(refused["values"] if refused else {})}),
        ),
    )


def _nobody_left(seen: Stepped, failure: Failure) -> tuple[Record, ...]:
    """One row when a failed call was to be followed by another candidate, and all that were left were skipped."""
    return (
        FallbackConsidered(
            step=seen.turn.progress.considered + 1,
            at_us=seen.now_us,
            provider=failure.provider,
            model=failure.model,
            decision=Decision.EXHAUSTED,
            reason=Reason.CANDIDATES_EXHAUSTED,
            rule="FB-11: every candidate behind it was skipped",
            values=json_of({"failure": failure.reason, "skipped": seen.turn.skipped}),
        ),
    )


def _stopped_by_deadline(seen: Stepped, contract: Contract) -> tuple[Record, ...]:
    """One row for the candidate that was not asked any more, where there was one (TURN-06)."""
    progress = seen.turn.progress
    following = contract.candidates[progress.candidate + 1 : progress.candidate + 2]
    if not progress.calls or not following:
        return ()
    failure = seen.turn.failure.reason if seen.turn.failure else None
    return (
        FallbackConsidered(
            step=progress.considered + 1,
            at_us=seen.now_us,
            provider=following[0].provider,
            model=following[0].model,
            decision=Decision.REFUSED,
            reason=Reason.DEADLINE_PASSED,
            rule="TURN-06: the deadline passed",
            values=json_of({"time_left": round(seen.turn.deadline - seen.now, 3), "failure": failure}),
        ),
    )


def _deciding_guard(step: Step) -> GuardAsked | None:
    """The guard that kept the turn from another candidate: the last one that refused."""
    refused = [guard for guard in step.guards if not guard["held"]]
    return refused[-1] if refused else None
