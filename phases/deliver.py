"""Phase `deliver`: speak, each speech once, with intent before and receipt after.

Owns the order of speeches and what a failed one means. Works on the plan of the answer, or, when the turn
stopped, on the notice that is due and the staff note of the last valid envelope. An empty plan is fine.
Invariant: nothing is sent without its committed intent (LOG-03).
"""

import hashlib

from phasewalk.machine.effects import EffectKind
from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.outcomes import notice_due
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.turn import Delivered, Plan, Speech, Turn
from phasewalk.machine.words import DELIVER, Owner
from phasewalk.phases.notices import notice_text


def plan_of(turn: Turn, ports: Ports) -> Plan:
    """What is to be said: the answer's plan, or what a stopped turn still owes (ENV-04)."""
    if turn.stop is None and turn.plan is not None:
        return turn.plan
    speeches: list[Speech] = []
    trigger, settings = turn.trigger, ports.settings
    code = notice_due(turn)
    if code is not None:
        text = notice_text(code, settings.notices, turn.missing, turn.failure.retry_after if turn.failure else None)
        speeches.append(Speech(EffectKind.NOTICE, trigger.channel_name, text, trigger.message_id, code))
    staff = turn.envelope.staff if turn.envelope else None
    if staff is not None and settings.staff_channel:
        speeches.append(Speech(EffectKind.STAFF_NOTE, settings.staff_channel, staff))
    return Plan(tuple(speeches))


async def deliver(turn: Turn, ports: Ports) -> Report:
    """Report `delivered`, `delivery_failed` or `delivery_in_doubt`; every speech is tried."""
    delivered = list(turn.delivered)
    failed: list[Reason] = []
    doubtful = False
    for index, speech in enumerate(plan_of(turn, ports).speeches):
        try:
            delivered.append(await _say(turn, ports, index, speech))
        except DeliveryInDoubtError:
            doubtful = True
        except DeliveryError as error:
            failed.append(error.reason)
        else:
            ports.keep(delivered=tuple(delivered), **_owner(turn, speech))
    changes: dict[str, object] = {"delivered": tuple(delivered)}
    if doubtful:
        changes["delivery_reason"] = Reason.DELIVERY_IN_DOUBT
        return Report("delivery_in_doubt", changes, Reason.DELIVERY_IN_DOUBT)
    if failed:
        changes["delivery_reason"] = failed[0]
        return Report("delivery_failed", changes, failed[0])
    return Report("delivered", changes)


async def _say(turn: Turn, ports: Ports, index: int, speech: Speech) -> Delivered:
    """Intent, send, receipt; a definite failure is written as such."""
    key = _key(turn.turn_id, index, speech)
    detail = {"text": speech.text} | ({"notice": speech.notice} if speech.notice else {})
    effect = await ports.effects.intend(EffectKind(speech.kind), key, speech.target, detail)
    try:
        receipt = await ports.surface.send(speech, turn.trigger, key)
    except DeliveryInDoubtError:
        raise
    except DeliveryError as error:
        await ports.effects.failed(effect, {"reason": error.reason, "error": str(error)})
        raise
    await ports.effects.done(effect, {"receipt": receipt})
    return Delivered(speech, receipt)


def _owner(turn: Turn, speech: Speech) -> dict[str, object]:
    """A notice owns the visible text where no answer of a model or a tool does (CON-28)."""
    return {"owner": Owner.NOTICE} if speech.notice is not None and turn.owner is None else {}


def _key(turn_id: str, index: int, speech: Speech) -> str:
    """The idempotency key of a speech, 24 characters: a surface may use it as its nonce (DIS-04)."""
    return hashlib.blake2b(f"{turn_id}/{index}/{speech.kind}".encode(), digest_size=12).hexdigest()


PHASE = Phase(
    DELIVER,
    deliver,
    {"delivered", "delivery_failed", "delivery_in_doubt"},
    {"delivered", "delivery_reason", "owner"},
)
