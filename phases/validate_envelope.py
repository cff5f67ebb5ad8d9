"""Phase `validate_envelope`: is the reply a usable answer, and what is to be said to whom?

Owns the rules that come after the schema (ENV-34), and that an answer to a request for several things leaves none
out (CON-27). Looks whether a follow-up was overtaken meanwhile (TURN-17). Repairs nothing: what does not parse strictly
is a failed attempt (ENV-18).
"""

from phasewalk.machine.contract import Contract
from phasewalk.machine.effects import EffectKind, delivered_to_person
from phasewalk.machine.exchange import ModelReply
from phasewalk.machine.fallback import Failure, FailureKind, allowance
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports, Sight
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Envelope
from phasewalk.machine.text import told
from phasewalk.machine.turn import Turn, identical_calls
from phasewalk.machine.words import VALIDATE_ENVELOPE, Kind, Owner
from phasewalk.phases.answers import flags_of_answer, plan_of_answer, unserved
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
    left_out = unserved(turn, contract, envelope)
    if left_out and _may_ask_again(turn, ports, contract):
        return _incomplete(turn, ports, left_out, envelope)
    plan = plan_of_answer(turn, contract, envelope, answer)
    flags = [*turn.flags, *flags_of_answer(turn, contract, envelope, ports.settings)]
    if left_out:
        flags.append(Reason.COMPOUND_INCOMPLETE)
    changes: dict[str, object] = {"envelope": envelope, "plan": plan, "flags": tuple(dict.fromkeys(flags))}
    if any(speech.kind == EffectKind.ANSWER for speech in plan.speeches):
        changes["owner"] = Owner.MODEL
    if turn.kind is Kind.IDLE and await ports.surface.look(turn.trigger) is Sight.OVERTAKEN:
        changes["superseded"] = True
    return Report("envelope_accepted", changes, detail={"notes": notes} if notes else {})


def _judged(turn: Turn, contract: Contract, reply: ModelReply) -> tuple[Envelope, str | None, tuple[str, ...]]:
    """The envelope after schema and domain rules, the visible answer, and notes on what was changed."""
    if reply.text is None:
        raise _RefusedError(*_no_text(turn, contract))
    try:
        envelope, notes = clamped(parse_envelope(reply.text), contract.channels)
    except EnvelopeError as error:
        raise _RefusedError(Reason.ENVELOPE_INVALID, str(error)) from error
    finished = visible_text(envelope.answer, contract.stickers)
    spoken = envelope.picture is not None or delivered_to_person(turn.effects)
    if finished.text is None and turn.trigger.speaks_to_bot and not spoken:
        raise _RefusedError(Reason.EMPTY_ANSWER, "the answer to somebody who spoke to the bot is empty", envelope)
    return envelope, finished.text, (*notes, *finished.notes)


def _no_text(turn: Turn, contract: Contract) -> tuple[Reason, str]:
    """Why there is no text: calls were made where none were offered any more (T11)."""
    if identical_calls(turn) > contract.limits.identical_calls:
        return Reason.IDENTICAL_CALLS, "the model repeated one call instead of answering"
    if turn.progress.rounds >= contract.limits.tool_rounds > 0:
        return Reason.ROUNDS_EXHAUSTED, f"no answer after {turn.progress.rounds} rounds of tools"
    return Reason.EMPTY_ANSWER, "the reply holds tool calls that were not offered, and no text"


def _may_ask_again(turn: Turn, ports: Ports, contract: Contract) -> bool:
    """Whether the model can still be sent back for what it left out: once, with tools, and with an attempt left."""
    if turn.reminded or not turn.offered:
        return False
    allowed = allowance(
        _failure(turn, ports, FailureKind.INCOMPLETE, Reason.COMPOUND_INCOMPLETE, ""),
        turn.effects,
        contract.candidates,
        progress=turn.progress,
        limits=turn.limits,
        time_left=turn.deadline - ports.clock.monotonic(),
    )
    return allowed.attempts_left > 0 and allowed.delay_fits


def _incomplete(turn: Turn, ports: Ports, left_out: tuple[str, ...], envelope: Envelope) -> Report:
    names = ", ".join(family.replace("_", " ") for family in left_out)
    failure = _failure(
        turn, ports, FailureKind.INCOMPLETE, Reason.COMPOUND_INCOMPLETE, f"the answer leaves out: {names}"
    )
    changes: dict[str, object] = {
        "failure": failure,
        "first_failure": turn.first_failure or failure,
        "reminder": f"Your answer did not deal with: {names}. Use its tools or fields, or say why that cannot be done.",
        "reminded": True,
        "envelope": envelope,
    }
    return Report("envelope_rejected", changes, Reason.COMPOUND_INCOMPLETE, detail={"left_out": left_out})


def _rejected(turn: Turn, ports: Ports, refused: _RefusedError) -> Report:
    failure = _failure(turn, ports, FailureKind.UNUSABLE, refused.reason, refused.message)
    changes: dict[str, object] = {"failure": failure, "first_failure": turn.first_failure or failure}
    if refused.envelope is not None:
        changes["envelope"] = refused.envelope
    return Report("envelope_rejected", changes, refused.reason)


def _failure(turn: Turn, ports: Ports, kind: FailureKind, reason: Reason, message: str) -> Failure:
    candidate = turn.contract.candidates[turn.progress.candidate] if turn.contract else None
    return Failure(
        kind=kind,
        reason=reason,
        message=told(message),
        phase=VALIDATE_ENVELOPE,
        provider=candidate.provider if candidate else "",
        model=candidate.model if candidate else "",
        jitter=ports.ids.fraction(),
    )


PHASE = Phase(
    VALIDATE_ENVELOPE,
    validate_envelope,
    {"envelope_accepted", "envelope_rejected"},
    {"envelope", "plan", "flags", "owner", "failure", "first_failure", "reminder", "reminded", "superseded"},
)
