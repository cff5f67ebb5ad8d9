"""Phase `deliver`: speak, each speech once, in the order of the plan.

Owns which speeches are due and what a failed one means. Works on the plan of the answer, or, when the turn
stopped, on the notice that is due and the staff note of the last valid envelope. An empty plan is fine. Looks again
at what is answered before it speaks (DIS-09). A visit that follows an interrupted one goes on where that one stopped.
"""

from collections.abc import Sequence

from attrs import define, field

from phasewalk.machine.effects import EffectKind, delivered_to_person
from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.outcomes import notice_due
from phasewalk.machine.phase import Opening, Phase, Report
from phasewalk.machine.ports import Ports, Sight
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Delivered, Plan, Speech
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import DELIVER, NoticeCode, Owner
from phasewalk.phases.answers import staff_flags, staff_speeches
from phasewalk.phases.notices import notice_text
from phasewalk.phases.saying import Saying, without_reply

_ANSWERS = frozenset({EffectKind.ANSWER, EffectKind.PICTURE})
_SPOKEN = frozenset({*_ANSWERS, EffectKind.STAFF_NOTE, EffectKind.NOTICE})


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


def opening(turn: Turn) -> Opening:
    """Keeps why the turn stopped, so that whoever finds it interrupted goes on from there (TURN-14)."""
    return Opening(detail={"stop": turn.stop}) if turn.stop is not None else Opening()


async def deliver(turn: Turn, ports: Ports) -> Report:
    """Report `delivered`, `delivery_failed` or `delivery_in_doubt`; every speech is tried."""
    work = _Delivery(turn, ports, list(turn.delivered))
    for index, speech in enumerate(await work.still_due(plan_of(turn, ports).speeches)):
        await work.say(index, speech)
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
    overtaken: bool = False
    seen: list[str] = field(factory=list)
    planned: int = 0

    async def still_due(self, speeches: Sequence[Speech]) -> list[Speech]:
        """What of the plan is to be said, as what is answered stands now; once begun, a delivery is not cut short."""
        self.planned = len(speeches)
        begun = any(effect.kind in _SPOKEN for effect in self.turn.effects)
        if begun or not self.turn.trigger.message_id or not any(s.kind in _ANSWERS for s in speeches):
            return list(speeches)
        sight = await self.ports.surface.look(self.turn.trigger)
        if sight is not Sight.AS_IT_WAS:
            self.seen.append(f"message_{sight}")
        if sight is not Sight.GONE:
            return list(speeches)
        if self.ports.settings.when_gone == "answer":
            return [without_reply(speech) for speech in speeches]
        self.overtaken = any(s.kind in _ANSWERS for s in speeches)
        return [speech for speech in speeches if speech.kind == EffectKind.STAFF_NOTE]

    async def say(self, index: int, speech: Speech) -> None:
        """Try one speech, part by part up to the first that does not arrive, and keep what became of it."""
        saying = Saying(self.turn, self.ports, index, speech)
        for key, part in saying.parts():
            try:
                delivered = await saying.say(key, part)
            except DeliveryInDoubtError:
                self.doubtful = True
                return
            except DeliveryError as error:
                (self.failed_pictures if speech.kind == EffectKind.PICTURE else self.failed).append(error.reason)
                return
            if delivered is not None:
                self.delivered.append(delivered)
                self.ports.keep(delivered=tuple(self.delivered), **_owner(self.turn, speech))

    async def excuse(self) -> None:
        """A picture that failed without any text beside it is answered with a notice (ENV-26)."""
        if not self.turn.trigger.speaks_to_bot:
            return
        cannot = self.failed_pictures[0] is Reason.MISSING_CAPABILITY
        code = NoticeCode.UNAVAILABLE if cannot else NoticeCode.ALL_FAILED
        await self.say(self.planned, _notice(self.turn, self.ports, code, ("image_generation",) if cannot else ()))

    def report(self) -> Report:
        """How it went. A failed picture beside an answer that arrived is a flag and no failure."""
        changes: dict[str, object] = {"delivered": tuple(self.delivered)}
        flags = self._flags()
        if flags:
            changes["flags"] = tuple(dict.fromkeys((*self.turn.flags, *flags)))
        answered = any(d.speech.kind == EffectKind.ANSWER for d in self.delivered)
        failed = self.failed if answered else [*self.failed, *self.failed_pictures]
        if self.overtaken:
            changes["superseded"] = True
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
        flags = [*self.seen, *(["picture_failed"] if self.failed_pictures else [])]
        if turn.stop is not None and turn.envelope is not None:
            flags += staff_flags(turn.envelope, self.ports.settings.staff_channel)
        return flags


def _owner(turn: Turn, speech: Speech) -> dict[str, object]:
    """A notice owns the visible text where no answer of a model or a tool does (CON-28)."""
    return {"owner": Owner.NOTICE} if speech.notice is not None and turn.owner is None else {}


PHASE = Phase(
    DELIVER,
    deliver,
    {"delivered", "delivery_failed", "delivery_in_doubt"},
    {"delivered", "delivery_reason", "owner", "flags", "superseded"},
    opening,
)
