"""Says one speech: cut as the surface must have it, each part once, with its intent before and its receipt after.

Owns the idempotency keys of parts, and where a delivery goes on that was interrupted: at the first part without a
receipt (DIS-04, TURN-14). Knows no plan. Invariant: nothing is sent without its committed intent (LOG-03).
"""

import hashlib

from attrs import evolve, frozen

from phasewalk.machine.effects import Effect, EffectKind, EffectState
from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Delivered, Speech
from phasewalk.machine.turn import Turn
from phasewalk.phases.pictures import with_pictures


@frozen
class Saying:
    """The speech number `index` of a turn's plan."""

    turn: Turn
    ports: Ports
    index: int
    speech: Speech

    def parts(self) -> list[tuple[str, Speech]]:
        """What has to be sent, in order, each with its idempotency key."""
        speech = self.speech
        cut = (speech,) if speech.kind == EffectKind.PICTURE else self.ports.surface.parts(speech)
        return [(key_of(self.turn.turn_id, self.index, speech.kind, number), part) for number, part in enumerate(cut)]

    async def say(self, key: str, part: Speech) -> Delivered | None:
        """Send a part, or find out what became of it when it was sent; None when its receipt is there already.

        Raises `DeliveryError` when it definitely did not arrive, `DeliveryInDoubtError` when nobody knows.
        """
        earlier = next((effect for effect in self.turn.effects if effect.key == key), None)
        if earlier is None:
            effect_id = await self._intend(key, part)
            receipt = await self._sent(effect_id, key, part)
        elif earlier.state is EffectState.INTENDED:
            effect_id = earlier.effect_id
            receipt = await self._settled(earlier, part)
        else:
            _check_known(self.turn, earlier)
            return None
        await self.ports.effects.done(effect_id, {"receipt": receipt})
        return Delivered(part, receipt)

    async def _intend(self, key: str, part: Speech) -> str:
        return await self.ports.effects.intend(EffectKind(part.kind), key, part.target, _detail(part))

    async def _sent(self, effect_id: str, key: str, part: Speech) -> str:
        """Pictures are made behind their intent."""
        try:
            made = await with_pictures(self.turn, self.ports, part) if part.kind == EffectKind.PICTURE else part
            return await self.ports.surface.send(made, self.turn.trigger, key)
        except DeliveryInDoubtError:
            raise
        except DeliveryError as error:
            await self._failed(effect_id, error)
            raise

    async def _settled(self, effect: Effect, part: Speech) -> str:
        try:
            return await self.ports.surface.settle(part, self.turn.trigger, effect.key, effect.intended_us)
        except DeliveryInDoubtError:
            raise
        except DeliveryError as error:
            await self._failed(effect.effect_id, error)
            raise

    async def _failed(self, effect_id: str, error: DeliveryError) -> None:
        await self.ports.effects.failed(effect_id, {"reason": error.reason, "error": str(error)})


def _check_known(turn: Turn, effect: Effect) -> None:
    """Of a part that is not sent again it is known already how it went; raises when that is nothing good."""
    if effect.state is EffectState.FAILED:
        raise DeliveryError("it did not arrive", turn.delivery_reason or Reason.DELIVERY_FAILED)
    if effect.state is EffectState.IN_DOUBT:
        raise DeliveryInDoubtError("nobody knows")


def _detail(speech: Speech) -> dict[str, object]:
    """What is kept of a speech with its intent."""
    if speech.kind == EffectKind.PICTURE:
        return {"picture": speech.text, "count": speech.count, "edit": speech.edit}
    detail: dict[str, object] = {"text": speech.text}
    return detail | ({"notice": speech.notice} if speech.notice else {})


def key_of(turn_id: str, index: int, kind: str, part: int = 0) -> str:
    """The idempotency key of a part, 24 characters: a surface may use it as its nonce (DIS-04)."""
    further = f"/{part}" if part else ""
    return hashlib.blake2b(f"{turn_id}/{index}/{kind}{further}".encode(), digest_size=12).hexdigest()


def without_reply(speech: Speech) -> Speech:
    """The same, as a message of its own."""
    return evolve(speech, reply_to="")
