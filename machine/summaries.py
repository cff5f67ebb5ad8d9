"""The rows that sum a turn up: its opening, its state while it walks, its one end. Pure."""

from phasewalk.machine.documents import json_of, payload_of
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.outcomes import first_reason_of, owner_of
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import ContractFrozen, Record, TurnEnded, TurnMoved, TurnOpened
from phasewalk.machine.text import storable
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import Outcome


def opened_row(turn: Turn, machine_hash: str, now_us: int) -> TurnOpened:
    """The claim of a trigger."""
    trigger = turn.trigger
    return TurnOpened(
        turn_id=turn.turn_id,
        machine=turn.machine,
        machine_hash=machine_hash,
        kind=trigger.kind,
        trigger_key=trigger.key,
        guild_id=trigger.guild_id,
        channel_id=trigger.channel_id,
        channel_name=storable(trigger.channel_name),
        user_id=trigger.user_id,
        user_name=storable(trigger.user_name),
        trigger_message_id=trigger.message_id,
        text=payload_of(trigger.text),
        started_us=now_us,
        deadline_us=now_us + int(turn.limits.turn * 1_000_000),
        addressed=trigger.addressed,
    )


def moved_row(turn: Turn, phase: str) -> TurnMoved:
    """Where the turn is now."""
    return TurnMoved(
        phase=phase,
        attempts=turn.progress.calls,
        rounds=turn.progress.rounds,
        effects=len(turn.effects),
        contract_hash=turn.contract.digest if turn.contract else None,
    )


def ended_row(turn: Turn, outcome: Outcome, reason: Reason, reason_phase: str, now_us: int) -> TurnEnded:
    """The one end."""
    spoken = (d for d in turn.delivered if d.speech.kind in (EffectKind.ANSWER, EffectKind.NOTICE))
    receipts = [d.receipt for d in spoken if d.receipt.isdigit()]  # only a message id names a message
    notices = [d.speech.notice for d in turn.delivered if d.speech.notice is not None]
    return TurnEnded(
        at_us=now_us,
        outcome=outcome,
        reason=reason,
        reason_phase=reason_phase,
        first_reason=first_reason_of(turn),
        owner=owner_of(turn),
        notice_code=notices[0] if notices else None,
        reply_message_id=receipts[0] if receipts else None,
        attempts=turn.progress.calls,
        rounds=turn.progress.rounds,
        effects=len(turn.effects),
        contract_hash=turn.contract.digest if turn.contract else None,
        flags=json_of(turn.flags) if turn.flags else None,
    )


def contract_rows(before: Turn, after: Turn, now_us: int) -> tuple[Record, ...]:
    """The contract, at the moment when it is frozen."""
    if after.contract is None or before.contract is not None:
        return ()
    return (ContractFrozen(after.contract.digest, after.contract.encoded, now_us),)
