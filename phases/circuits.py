"""What each step of a turn means for the circuit of the provider that it asked (FB-15). Pure.

Asked by the runner at every step, as `explain` is. Knows no store: a report is a row that storage counts.
"""

from phasewalk.machine.circuit import CircuitEvent, counts
from phasewalk.machine.definition import FAILED, Stepped
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import CircuitNoted, Record
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import Cause

_ENDS = FAILED | {"deadline_passed", "cancelled", "crashed", "prompt_too_large"}
_STAYS = frozenset({Cause.RETRY, Cause.SHRUNK})
"""Causes with which the executor stays with its candidate."""


def circuit_notes(seen: Stepped) -> tuple[Record, ...]:
    """A row where a provider gave a usable reply, or is left failed, or where its probe ends without either."""
    provider = _asked(seen.turn)
    learnt = _learnt(seen) if provider else None
    return () if learnt is None else (_note(seen, provider, *learnt),)


def _learnt(seen: Stepped) -> tuple[CircuitEvent, Reason | None] | None:
    """What the step says about the provider that was asked last, and why where it failed."""
    turn, event = seen.turn, seen.event
    if event == "envelope_accepted" or (event == "tools_requested" and turn.offered):
        return CircuitEvent.SUCCEEDED, None
    if event == "deadline_passed" and turn.asking:
        return CircuitEvent.FAILED, Reason.TIMED_OUT
    if seen.step.row.cause in _STAYS:
        return None
    if event in FAILED and turn.failure is not None and counts(turn.failure):
        return CircuitEvent.FAILED, turn.failure.reason
    return (CircuitEvent.RELEASED, None) if turn.progress.probing and event in _ENDS else None


def _asked(turn: Turn) -> str:
    """The provider that was asked last; empty before the first call."""
    if turn.contract is None or not turn.progress.calls:
        return ""
    return turn.contract.candidates[turn.progress.candidate].provider


def _note(seen: Stepped, provider: str, event: CircuitEvent, reason: Reason | None) -> CircuitNoted:
    limits = seen.turn.limits
    return CircuitNoted(
        provider=provider,
        event=event,
        at_us=seen.now_us,
        reason=reason,
        failures=limits.circuit_failures,
        window_us=int(limits.circuit_window * 1_000_000),
        cooldown_us=int(limits.circuit_cooldown * 1_000_000),
    )
