"""The questions on the rows of the table (TURN-01): pure functions of the turn and the clock.

Owns every guard by name. A guard changes nothing and returns the values that it compared. Knows no phase.
"""

from collections.abc import Callable, Mapping
from functools import cached_property

from attrs import frozen

from phasewalk.machine.effects import has_side_effects
from phasewalk.machine.engine import Verdict
from phasewalk.machine.fallback import Allowance, FailureKind, allowance
from phasewalk.machine.turn import Turn


@frozen(slots=False)
class Asked:
    """What guards look at: the turn with what its phase has just reported, and two readings of the clock."""

    turn: Turn
    now: float
    now_us: int

    @property
    def time_left(self) -> float:
        """Seconds until the turn's deadline; negative when it has passed."""
        return self.turn.deadline - self.now

    @cached_property
    def allowed(self) -> Allowance | None:
        """What the failure in hand allows, decided once; None without a failure or a contract."""
        turn = self.turn
        if turn.failure is None or turn.contract is None:
            return None
        return allowance(
            turn.failure,
            turn.effects,
            turn.contract.candidates,
            progress=turn.progress,
            limits=turn.limits,
            time_left=self.time_left,
        )


def tools_were_offered(asked: Asked) -> Verdict:
    """Did the model call carry tools? Calls made although none were offered are ignored (T11)."""
    return Verdict(bool(asked.turn.offered), {"offered": list(asked.turn.offered)})


def context_overflowed(asked: Asked) -> Verdict:
    """Was it the context window (ENV-30)?"""
    kind = asked.turn.failure.kind if asked.turn.failure else None
    return Verdict(kind is FailureKind.CONTEXT_LIMIT, {"kind": kind})


def no_side_effects(asked: Asked) -> Verdict:
    """Has nothing happened that cannot be taken back (FB-01)?"""
    effects = asked.turn.effects
    return Verdict(not has_side_effects(effects), {"effects": [f"{e.kind}:{e.target}:{e.state}" for e in effects]})


def not_shrunk_yet(asked: Asked) -> Verdict:
    """Is the one smaller retry still left (ENV-30)?"""
    return Verdict(not asked.turn.progress.shrunk, {"shrunk": asked.turn.progress.shrunk})


def before_deadline(asked: Asked) -> Verdict:
    """Is there time left (TURN-06)?"""
    return Verdict(asked.time_left > 0, {"time_left": round(asked.time_left, 3)})


def retry_allowed(asked: Asked) -> Verdict:
    """Does the rule for this failure let the same candidate be asked again (FB-13)?"""
    allowed = asked.allowed
    if allowed is None:
        return Verdict(held=False)
    return Verdict(allowed.retry_allowed, {"rule": allowed.rule.name, "after_effects": allowed.after_effects})


def attempts_left(asked: Asked) -> Verdict:
    """Are attempts left for this model call (ENV-12)?"""
    allowed = asked.allowed
    if allowed is None:
        return Verdict(held=False)
    return Verdict(
        allowed.attempts_left > 0,
        {
            "left": allowed.attempts_left,
            "failures": asked.turn.progress.failures + 1,
            "limit": asked.turn.limits.attempts,
        },
    )


def delay_fits_deadline(asked: Asked) -> Verdict:
    """Does the wait before the next attempt end before the deadline (ENV-12)?"""
    allowed = asked.allowed
    if allowed is None:
        return Verdict(held=False)
    return Verdict(allowed.delay_fits, {"delay": round(allowed.delay, 3), "time_left": round(allowed.time_left, 3)})


def fallback_allowed(asked: Asked) -> Verdict:
    """Does the rule for this failure let another candidate be asked (FB-12, FB-13)?"""
    allowed = asked.allowed
    if allowed is None:
        return Verdict(held=False)
    return Verdict(allowed.falls_back, {"rule": allowed.rule.name})


def candidate_left(asked: Asked) -> Verdict:
    """Is there another candidate in the contract's order (FB-10)?"""
    allowed = asked.allowed
    following = allowed.next_candidate if allowed else None
    at = asked.turn.progress.candidate + 1
    count = len(asked.turn.contract.candidates) if asked.turn.contract else 0
    return Verdict(following is not None, {"next": following.name if following else None, "at": at, "of": count})


def superseded(asked: Asked) -> Verdict:
    """Has newer activity overtaken this background turn (TURN-17)?"""
    return Verdict(asked.turn.superseded)


def has_something_to_deliver(asked: Asked) -> Verdict:
    """Is anything due to anybody?"""
    plan = asked.turn.plan
    return Verdict(bool(plan), {"speeches": len(plan.speeches) if plan else 0})


def nothing_intended(asked: Asked) -> Verdict:
    """Has the interrupted turn not intended any effect (TURN-14)?"""
    return Verdict(not asked.turn.effects, {"effects": len(asked.turn.effects)})


def claims_left(asked: Asked) -> Verdict:
    """May the turn be started once more (TURN-14)?"""
    turn = asked.turn
    return Verdict(turn.claims < turn.limits.claims, {"claims": turn.claims, "limit": turn.limits.claims})


def recent_enough(asked: Asked) -> Verdict:
    """Was the trigger heard so lately that it is worth answering (TURN-14)?"""
    age = (asked.now_us - asked.turn.opened_us) / 1_000_000
    return Verdict(
        age <= asked.turn.limits.recover_within, {"age": round(age, 3), "limit": asked.turn.limits.recover_within}
    )


GUARDS: Mapping[str, Callable[[Asked], Verdict]] = {
    guard.__name__: guard
    for guard in (
        tools_were_offered,
        context_overflowed,
        no_side_effects,
        not_shrunk_yet,
        before_deadline,
        retry_allowed,
        attempts_left,
        delay_fits_deadline,
        fallback_allowed,
        candidate_left,
        superseded,
        has_something_to_deliver,
        nothing_intended,
        claims_left,
        recent_enough,
    )
}
