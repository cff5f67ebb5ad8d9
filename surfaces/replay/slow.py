"""Which commit was on its way when a visit was stopped: what was begun behind it, and what not, tells it.

Owns that conclusion. Pure, and knows no walk. Invariants: of a visit that ended by itself no commit was slow; where
something else was cut off, such as a tool at work, no commit is named.
"""

from attrs import frozen

from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import EffectIntended, EffectSettled, ToolEnded, ToolStarted
from phasewalk.machine.words import DELIVER, TOOL_ROUNDS
from phasewalk.storage.recorded_turn import Call, Effect, RecordedTurn

INTERRUPTED = frozenset({"deadline_passed", "cancelled"})
"""Ends of a visit that came from outside its phase."""

_STOPS = frozenset({Reason.DEADLINE_PASSED, Reason.CANCELLED})
_SETTLED = {"receipt", "failed"}
_NOT_STARTED = "not_started"


@frozen
class Slow:
    """The commit with this record; `name` is the id of its call, or the key of its effect."""

    kind: type[ToolStarted] | type[ToolEnded] | type[EffectIntended] | type[EffectSettled]
    name: str = ""


def slow_commit(record: RecordedTurn, place: int) -> Slow | None:
    """The commit that was on its way when the visit at this place was stopped, or the record's last one; None: none."""
    stay = record.stays[place]
    if stay.left is not None and stay.event not in INTERRUPTED:
        return None
    if stay.phase == DELIVER:
        return _of_effect(record.spoken[-1]) if record.spoken else None
    if stay.phase == TOOL_ROUNDS:
        return _of_round(record, [call for call in record.calls if call.round == stay.visit], ended=bool(stay.left))
    return None


def settled_effect(record: RecordedTurn, call: Call) -> Effect | None:
    """What became of the effect of a call, where the call itself told it before it was stopped."""
    effect = _effect(record, call)
    own = effect is not None and effect.settled in _SETTLED and effect.detail.get("call") == call.call_id
    return effect if own else None


def _effect(record: RecordedTurn, call: Call) -> Effect | None:
    of_tools = (effect for effect in record.effects if isinstance(effect.intent, dict))
    return next((effect for effect in of_tools if effect.intent.get("call") == call.call_id), None)


def _of_effect(effect: Effect) -> Slow | None:
    if _NOT_STARTED in effect.detail:
        return Slow(EffectIntended, effect.key)
    return Slow(EffectSettled, effect.key) if effect.settled in _SETTLED else None


def _of_round(record: RecordedTurn, calls: list[Call], *, ended: bool) -> Slow | None:
    for call in calls:
        effect = _effect(record, call)
        if effect is not None and (_NOT_STARTED in effect.detail or _cut_off_behind_its_effect(record, call)):
            return _of_effect(effect)
    refused = [call for call in calls if call.status == "refused"]
    left_out = [call for call in calls if call.status == "not_executed" and call.reason in _STOPS]
    begun = [call for call in calls if call not in refused and call not in left_out]
    if left_out:
        return _before(left_out[0], begun, calls) if begun else _of_answer(refused)
    cut_off = not ended or any(call.status in ("interrupted", None) for call in calls)
    if cut_off or not calls:
        return None
    return _of_answer(sorted(begun, key=lambda call: call.ended_us or 0) or refused)


def _cut_off_behind_its_effect(record: RecordedTurn, call: Call) -> bool:
    return call.status == "interrupted" and settled_effect(record, call) is not None


def _of_answer(answered: list[Call]) -> Slow:
    """The row of the last answer; without any, those with which the round begins."""
    return Slow(ToolEnded, answered[-1].call_id) if answered else Slow(ToolStarted)


def _before(left_out: Call, begun: list[Call], calls: list[Call]) -> Slow | None:
    """The end of the mutating call behind which this one waited, unless that call had not ended either."""
    earlier = [call for call in calls[: calls.index(left_out)] if call in begun and call.effect == "mutating"]
    return Slow(ToolEnded, earlier[-1].call_id) if earlier and earlier[-1].status != "interrupted" else None
