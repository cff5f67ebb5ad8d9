"""Phase `deliver`: speak, each speech once, with intent before and receipt after.

Owns the order of speeches and what a failed one means. Works on the plan of the answer, or, when the turn
stopped, on the notice that is due and the staff note of the last valid envelope. An empty plan is fine.
Invariant: nothing is sent without its committed intent (LOG-03).
"""

import hashlib

from attrs import define, field

from phasewalk.machine.effects import EffectKind, delivered_to_person
from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.outcomes import notice_due
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Delivered, Plan, Speech
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import DELIVER, NoticeCode, Owner
from phasewalk.phases.answers import staff_flags, staff_speeches
from phasewalk.phases.notices import notice_text
from phasewalk.phases.pictures import with_pictures


def plan_of(turn: Turn, ports: Ports) -> Plan:
    """What is to be said: the answer's plan, or what a stopped turn still owes (ENV-04)."""
    if turn.stop is None and turn.plan is not None:
        return turn.plan
    speeches: list[Speech] = []
    settings = ports.settings
    code = notice_due(turn)
    if code is not None:
        speeches.append(_notice(turn, ports, code, turn.missing))
    if turn.envelope is not None:
        speeches.extend(staff_speeches(turn, turn.envelope, settings.staff_channel))
    return Plan(tuple(speeches))


def _notice(turn: Turn, ports: Ports, code: NoticeCode, missing: tuple[str, ...]) -> Speech:
    settings, trigger = ports.settings, turn.trigger
    come_back = turn.failure.retry_after if turn.failure else None
    text = notice_text(code, settings.notices, missing, come_back, settings.family_labels)
    return Speech(EffectKind.NOTICE, trigger.channel_name, text, trigger.message_id, code)


async def deliver(turn: Turn, ports: Ports) -> Report:
    """Report `delivered`, `delivery_failed` or `delivery_in_doubt`; every speech is tried."""
    work = _Delivery(turn, ports, list(turn.delivered))
    for speech in plan_of(turn, ports).speeches:
        await work.say(speech)
    if work.failed_pictures and not delivered_to_person(ports.effects.all()):
        await work.excuse()
    return work.report()


@define
class _Delivery:
    """The speeches of one turn on their way."""

    turn: Turn
    ports: Ports
    delivered: list[Delivered]
    failed: list[Reason] = field(factory=list)
    failed_pictures: list[Reason] = field(factory=list)
    doubtful: bool = False
    said: int = 0

    async def say(self, speech: Speech) -> None:
        """Try one speech and keep what became of it."""
        self.said += 1
        try:
            self.delivered.append(await _say(self.turn, self.ports, self.said - 1, speech))
        except DeliveryInDoubtError:
            self.doubtful = True
        except DeliveryError as error:
            (self.failed_pictures if speech.kind == EffectKind.PICTURE else self.failed).append(error.reason)
        else:
            self.ports.keep(delivered=tuple(self.delivered), **_owner(self.turn, speech))

    async def excuse(self) -> None:
        """A picture that failed without any text beside it is answered with a notice (ENV-26)."""
        if not self.turn.trigger.speaks_to_bot:
            return
        cannot = self.failed_pictures[0] is Reason.MISSING_CAPABILITY
        code = NoticeCode.UNAVAILABLE if cannot else NoticeCode.ALL_FAILED
        await self.say(_notice(self.turn, self.ports, code, ("image_generation",) if cannot else ()))

    def report(self) -> Report:
        """How it went. A failed picture beside an answer that arrived is a flag and no failure."""
        changes: dict[str, object] = {"delivered": tuple(self.delivered)}
        flags = self._flags()
        if flags:
            changes["flags"] = tuple(dict.fromkeys((*self.turn.flags, *flags)))
        answered = any(d.speech.kind == EffectKind.ANSWER for d in self.delivered)
        failed = self.failed if answered else [*self.failed, *self.failed_pictures]
        if self.doubtful:
            changes["delivery_reason"] = Reason.DELIVERY_IN_DOUBT
            return Report("delivery_in_doubt", changes, Reason.DELIVERY_IN_DOUBT)
        if failed:
            changes["delivery_reason"] = failed[0]
            return Report("delivery_failed", changes, failed[0])
        return Report("delivered", changes)

    def _flags(self) -> list[str]:
        """What an operator should notice beside what validation noticed."""
        turn = self.turn
        flags = ["picture_failed"] if self.failed_pictures else []
        if turn.stop is not None and turn.envelope is not None:
            flags += staff_flags(turn.envelope, self.ports.settings.staff_channel)
        return flags


async def _say(turn: Turn, ports: Ports, index: int, speech: Speech) -> Delivered:
    """Intent, send, receipt; a definite failure is written as such. Pictures are made behind their intent."""
    key = _key(turn.turn_id, index, speech)
    effect = await ports.effects.intend(EffectKind(speech.kind), key, speech.target, _detail(speech))
    try:
        made = await with_pictures(turn, ports, speech) if speech.kind == EffectKind.PICTURE else speech
        receipt = await ports.surface.send(made, turn.trigger, key)
    except DeliveryInDoubtError:
        raise
    except DeliveryError as error:
        await ports.effects.failed(effect, {"reason": error.reason, "error": str(error)})
        raise
    await ports.effects.done(effect, {"receipt": receipt})
    return Delivered(speech, receipt)


def _detail(speech: Speech) -> dict[str, object]:
    """What is kept of a speech with its intent."""
    if speech.kind == EffectKind.PICTURE:
        return {"picture": speech.text, "count": speech.count, "edit": speech.edit}
    detail: dict[str, object] = {"text": speech.text}
    return detail | ({"notice": speech.notice} if speech.notice else {})


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
    {"delivered", "delivery_reason", "owner", "flags"},
)
