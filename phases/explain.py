"""Explains where fallback ended: the rows of `fallback_step` for the last failure of a turn (FB-14).

Asked by the runner at every step; answers only where a failed attempt is followed by no further one.
"""

from phasewalk.machine.documents import json_of
from phasewalk.machine.engine import GuardAsked, Step
from phasewalk.machine.fallback import allowance
from phasewalk.machine.outcomes import stop_of
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import FallbackConsidered, Record
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import Decision

_FAILED = frozenset({"attempt_failed", "envelope_rejected"})


def explain_stop(turn: Turn, step: Step, phase: str, now_us: int, now: float) -> tuple[Record, ...]:
    """One row saying why nothing else was tried: `refused` by a guard, or `exhausted` for want of candidates."""
    failure, contract = turn.failure, turn.contract
    events = set(step.row.events)
    if not events & _FAILED or step.row.cause is not None or failure is None or contract is None:
        return ()
    event = next(iter(events & _FAILED))
    time_left = turn.deadline - now
    allowed = allowance(
        failure,
        turn.effects,
        contract.candidates,
        progress=turn.progress,
        limits=turn.limits,
        time_left=time_left,
    )
    stop = stop_of(turn, phase, event, failure.reason)
    refused = _deciding_guard(step)
    exhausted = refused is None or refused["name"] == "candidate_left"
    candidate = contract.candidates[turn.progress.candidate]
    following = allowed.next_candidate
    return (
        FallbackConsidered(
            step=turn.progress.considered + 1,
            at_us=now_us,
            provider=following.provider if following else candidate.provider,
            model=following.model if following else candidate.model,
            decision=Decision.EXHAUSTED if exhausted else Decision.REFUSED,
            reason=stop.reason if stop else Reason.CANDIDATES_EXHAUSTED,
            rule=f"{refused['transition']}.{refused['name']}: {allowed.rule.name}" if refused else allowed.rule.name,
            values=json_of({**allowed.values, "failure": failure.reason, **(refused["values"] if refused else {})}),
        ),
    )


def _deciding_guard(step: Step) -> GuardAsked | None:
    """The guard that kept the turn from another candidate: the last one that refused."""
    refused = [guard for guard in step.guards if not guard["held"]]
    return refused[-1] if refused else None
