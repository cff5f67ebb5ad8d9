"""Why a turn stopped and how it ended: pure functions from the turn to a reason, an outcome, a notice.

Owns the order of reasons, the meaning of outcomes, and when which notice is due. Writes and sends nothing.
"""

from phasewalk.machine.effects import EffectKind, EffectState, delivered_to_person, has_side_effects, unresolved
from phasewalk.machine.fallback import Failure, FailureKind
from phasewalk.machine.reasons import Reason
from phasewalk.machine.turn import Stop, Turn
from phasewalk.machine.words import DELIVER, NoticeCode, Outcome, Owner

_STOPPING = frozenset(
    {
        "admission_refused",
        "requirement_unavailable",
        "request_unclear",
        "prompt_too_large",
        "attempt_failed",
        "envelope_rejected",
        "no_candidate",
        "deadline_passed",
        "cancelled",
        "crashed",
        "interrupted",
    },
)


def stop_of(turn: Turn, phase: str, event: str, reason: Reason | None) -> Stop | None:
    """The stop that this event means when the walk leaves `phase` for good, or None for an ordinary event.

    The first stop stays: what happens while a notice is delivered does not change why the turn stopped.
    """
    if turn.stop is not None or event not in _STOPPING:
        return turn.stop
    return Stop(event, _stop_reason(turn, event, reason), phase)


def _stop_reason(turn: Turn, event: str, reason: Reason | None) -> Reason:
    if event in ("attempt_failed", "envelope_rejected"):
        return _failure_reason(turn)
    if event == "no_candidate":
        return no_candidate_reason(turn.failure, turn.skipped)
    if event == "interrupted" and not turn.effects and turn.claims >= turn.limits.claims:
        return Reason.CLAIMS_EXHAUSTED
    return _REASON_OF.get(event) or reason or _DEFAULT_OF.get(event, Reason.INTERNAL_ERROR)


_REASON_OF = {"deadline_passed": Reason.DEADLINE_PASSED, "prompt_too_large": Reason.CONTEXT_LIMIT}
"""Events that mean one reason, whatever was reported with them."""

_DEFAULT_OF = {"cancelled": Reason.CANCELLED, "interrupted": Reason.PROCESS_GONE}
"""What an event means that was reported without a reason."""


def _failure_reason(turn: Turn) -> Reason:
    failure = turn.failure
    if turn.progress.last_try or (failure is not None and failure.kind is FailureKind.CONTEXT_LIMIT):
        return Reason.CONTEXT_LIMIT
    if failure is not None and failure.kind is FailureKind.SAFETY_BLOCK and failure.safety_final:
        return Reason.SAFETY_BLOCK
    if has_side_effects(turn.effects):
        return Reason.SIDE_EFFECTS
    return _exhausted(turn)


def _exhausted(turn: Turn) -> Reason:
    count = len(turn.contract.candidates) if turn.contract else 0
    return Reason.ATTEMPTS_EXHAUSTED if count <= 1 else Reason.CANDIDATES_EXHAUSTED


def no_candidate_reason(failure: Failure | None, skipped: tuple[str, ...]) -> Reason:
    """Why nobody is left to ask: the reason that all were skipped for, if they share one and none was asked."""
    if failure is None and len(set(skipped)) == 1:
        return Reason(skipped[0])
    return Reason.CANDIDATES_EXHAUSTED


def outcome_of(turn: Turn) -> tuple[Outcome, Reason]:
    """How the turn ended and why, from everything that is known of it when `record` is over."""
    if turn.outcome is not None and turn.reason is not None:
        return turn.outcome, turn.reason
    if turn.stop is not None:
        return _stopped(turn, turn.stop)
    if unresolved(turn.effects):
        return Outcome.IN_DOUBT, turn.delivery_reason or _doubtful(turn)
    if turn.superseded:
        return Outcome.CANCELLED, Reason.SUPERSEDED
    if turn.delivery_reason is not None:
        return _undelivered(turn, turn.delivery_reason)
    return _spoken(turn)


def _spoken(turn: Turn) -> tuple[Outcome, Reason]:
    """The end of a turn that neither stopped nor failed to deliver."""
    if turn.envelope is None:
        return Outcome.SHORT_PATH, Reason.SHORT_PATH
    kinds = {effect.kind for effect in turn.effects}
    if kinds & {EffectKind.ANSWER, EffectKind.PICTURE, EffectKind.VISIBLE_TEXT}:
        return Outcome.ANSWERED, Reason.OK
    if EffectKind.STAFF_NOTE in kinds:
        return Outcome.SILENT, Reason.OK
    return Outcome.SILENT, Reason.ANSWER_NOT_NEEDED


def _doubtful(turn: Turn) -> Reason:
    """What the doubt is about: a tool that never came back, else a message."""
    tools = any(effect.kind is EffectKind.TOOL for effect in unresolved(turn.effects))
    return Reason.TOOL_TIMED_OUT if tools else Reason.DELIVERY_IN_DOUBT


_BY_EVENT = {
    "deadline_passed": Outcome.EXPIRED,
    "cancelled": Outcome.CANCELLED,
    "admission_refused": Outcome.REFUSED,
    "requirement_unavailable": Outcome.UNAVAILABLE,
    "request_unclear": Outcome.UNCLEAR,
}
"""Stops whose outcome does not depend on what had happened before."""


def _stopped(turn: Turn, stop: Stop) -> tuple[Outcome, Reason]:
    if stop.event in _BY_EVENT:
        return _BY_EVENT[stop.event], stop.reason
    work = [e for e in turn.effects if e.kind is not EffectKind.NOTICE]
    if unresolved(work):
        return Outcome.IN_DOUBT, stop.reason
    if has_side_effects(e for e in work if e.kind is not EffectKind.STAFF_NOTE):
        return Outcome.PARTIAL, stop.reason
    return Outcome.ABANDONED if stop.event == "interrupted" else Outcome.STOPPED, stop.reason


def _undelivered(turn: Turn, reason: Reason) -> tuple[Outcome, Reason]:
    said = (e for e in turn.effects if e.kind is not EffectKind.NOTICE)
    if delivered_to_person(said) or any(e.kind is EffectKind.TOOL for e in turn.effects):
        return Outcome.PARTIAL, reason
    return Outcome.UNDELIVERED, reason


def notice_due(turn: Turn) -> NoticeCode | None:
    """The notice that the person gets for how the turn stopped, or None.

    Due only to who spoke to the bot or owns the job; the deadline notice also to who has already seen
    something, the others not (FB-03, TURN-07).
    """
    stop = turn.stop
    if stop is None or not turn.trigger.speaks_to_bot:
        return None
    if stop.event == "deadline_passed":
        return NoticeCode.DEADLINE
    if delivered_to_person(turn.effects):
        return None
    if stop.event == "cancelled":
        return NoticeCode.RESTART if stop.reason is Reason.SHUTTING_DOWN else None
    return _notice_for(turn, stop)


def _notice_for(turn: Turn, stop: Stop) -> NoticeCode:
    if stop.reason is Reason.SHUTTING_DOWN:
        return NoticeCode.RESTART
    if stop.event == "interrupted":
        return NoticeCode.PARTIAL if has_side_effects(turn.effects) else NoticeCode.RESTART
    by_event = {
        "admission_refused": NoticeCode.BUSY,
        "requirement_unavailable": NoticeCode.UNAVAILABLE,
        "request_unclear": NoticeCode.UNCLEAR,
    }
    if stop.event in by_event:
        return by_event[stop.event]
    if has_side_effects(turn.effects):
        return NoticeCode.PARTIAL  # whoever is told to ask again would have it done twice
    by_reason = {Reason.CONTEXT_LIMIT: NoticeCode.CONTEXT_LIMIT, Reason.SAFETY_BLOCK: NoticeCode.SAFETY}
    return by_reason.get(stop.reason, NoticeCode.ALL_FAILED)


def first_reason_of(turn: Turn) -> Reason | None:
    """The reason of the first failure of the turn, kept beside the last one."""
    return turn.first_failure.reason if turn.first_failure else None


def reason_phase_of(turn: Turn, phase: str) -> str:
    """The phase in which the reason arose."""
    if turn.stop is not None:
        return turn.stop.phase
    return DELIVER if turn.delivery_reason is not None else phase


def owner_of(turn: Turn) -> Owner | None:
    """Who made the text that the person sees (CON-28): a tool's stands where neither model nor notice replaced it."""
    spoke = any(e.kind is EffectKind.VISIBLE_TEXT and e.state is EffectState.DONE for e in turn.effects)
    return turn.owner or (Owner.TOOL if spoke else None)
