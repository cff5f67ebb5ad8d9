"""Phase `validate_envelope`: is the reply a usable answer, and what is to be said to whom?

Owns the rules that come after the schema (ENV-01..04, ENV-34) and the plan of an accepted answer. Repairs nothing:
what does not parse strictly is a failed attempt (ENV-18).
"""

from phasewalk.machine.contract import Contract
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.fallback import Failure, FailureKind
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.text import told
from phasewalk.machine.turn import Envelope, ModelReply, Plan, Speech, Turn, identical_calls
from phasewalk.machine.words import VALIDATE_ENVELOPE, Owner
from phasewalk.phases.envelope import EnvelopeError, clamped, parse_envelope
from phasewalk.phases.finish import visible_text


class _RefusedError(Exception):
    """A reply that is no usable answer, on its way to the report; `envelope` where the schema held."""

    def __init__(self, reason: Reason, message: str, envelope: Envelope | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.envelope = envelope


async def validate_envelope(turn: Turn, ports: Ports) -> Report:
    """Report `envelope_accepted` with a plan, or `envelope_rejected` with the failure."""
    contract, reply = turn.contract, turn.reply
    if contract is None or reply is None:
        raise AssertionError("validate_envelope needs a contract and a reply")
    try:
        envelope, answer, notes = _judged(turn, contract, reply)
    except _RefusedError as refused:
        return _rejected(turn, ports, refused)
    plan = _plan(turn, contract, envelope, answer)
    flags = turn.flags
    if envelope.staff is not None and not contract.staff_channel:
        flags = (*flags, "staff_note_without_channel")
    changes: dict[str, object] = {"envelope": envelope, "plan": plan, "flags": flags}
    if any(speech.kind == EffectKind.ANSWER for speech in plan.speeches):
        changes["owner"] = Owner.MODEL
    return Report("envelope_accepted", changes, detail={"notes": notes} if notes else {})


def _judged(turn: Turn, contract: Contract, reply: ModelReply) -> tuple[Envelope, str | None, tuple[str, ...]]:
    """The envelope after schema and domain rules, the visible answer, and notes on what was changed."""
    if reply.text is None:
        raise _RefusedError(*_no_text(turn, contract))
    try:
        envelope, notes = clamped(parse_envelope(reply.text), contract.channels)
    except EnvelopeError as error:
        raise _RefusedError(Reason.ENVELOPE_INVALID, str(error)) from error
    finished = visible_text(envelope.answer)
    if finished.text is None and turn.trigger.speaks_to_bot and envelope.picture is None:
        raise _RefusedError(Reason.EMPTY_ANSWER, "the answer to somebody who spoke to the bot is empty", envelope)
    return envelope, finished.text, (*notes, *finished.notes)


def _no_text(turn: Turn, contract: Contract) -> tuple[Reason, str]:
    """Why there is no text: calls were made where none were offered any more (T11)."""
    if identical_calls(turn) > contract.limits.identical_calls:
        return Reason.IDENTICAL_CALLS, "the model repeated one call instead of answering"
    if turn.progress.rounds >= contract.limits.tool_rounds > 0:
        return Reason.ROUNDS_EXHAUSTED, f"no answer after {turn.progress.rounds} rounds of tools"
    return Reason.EMPTY_ANSWER, "the reply holds tool calls that were not offered, and no text"


def _plan(turn: Turn, contract: Contract, envelope: Envelope, answer: str | None) -> Plan:
    """What is due to whom: an answer that is needed, asked for, or accompanied by a staff note (ENV-01..04)."""
    speeches: list[Speech] = []
    due = envelope.answer_needed or turn.trigger.speaks_to_bot or envelope.staff is not None
    if answer is not None and due:
        target = envelope.channel or turn.trigger.channel_name
        speeches.append(Speech(EffectKind.ANSWER, target, answer, reply_to=turn.trigger.message_id))
    if envelope.staff is not None and contract.staff_channel:
        speeches.append(Speech(EffectKind.STAFF_NOTE, contract.staff_channel, envelope.staff))
    return Plan(tuple(speeches))


def _rejected(turn: Turn, ports: Ports, refused: _RefusedError) -> Report:
    progress, contract = turn.progress, turn.contract
    candidate = contract.candidates[progress.candidate] if contract else None
    failure = Failure(
        kind=FailureKind.UNUSABLE,
        reason=refused.reason,
        message=told(refused.message),
        phase=VALIDATE_ENVELOPE,
        provider=candidate.provider if candidate else "",
        model=candidate.model if candidate else "",
        jitter=ports.ids.fraction(),
    )
    changes: dict[str, object] = {"failure": failure, "first_failure": turn.first_failure or failure}
    if refused.envelope is not None:
        changes["envelope"] = refused.envelope
    return Report("envelope_rejected", changes, refused.reason)


PHASE = Phase(
    VALIDATE_ENVELOPE,
    validate_envelope,
    {"envelope_accepted", "envelope_rejected"},
    {"envelope", "plan", "flags", "owner", "failure", "first_failure"},
)
