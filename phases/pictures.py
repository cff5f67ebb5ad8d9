"""Makes the pictures that an answer asks for, through the provider's image API (ENV-26).

Owns the choice of who makes them and the limit around the call. Delivers nothing; a picture that cannot be made is
a `DeliveryError` whose reason says why. Invariant: one call a speech, never repeated.
"""

from attrs import evolve

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.deadlines import CancelledByWorkError, LimitPassedError, within
from phasewalk.machine.errors import DeliveryError
from phasewalk.machine.limits import MODEL_CALL_FLOOR
from phasewalk.machine.ports import Ports
from phasewalk.machine.provider import PictureRequest, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Speech
from phasewalk.machine.text import told
from phasewalk.machine.turn import Turn

PICTURES = frozenset({"image_generation", "image_editing"})
"""Families that the envelope itself serves where a provider has an image model (ENV-26)."""


async def with_pictures(turn: Turn, ports: Ports, speech: Speech) -> Speech:
    """The speech with its pictures; raises `DeliveryError` when there are none to be had."""
    candidate = _painter(turn)
    if candidate is None or candidate.image_model is None:
        raise DeliveryError("no provider with an image-model is configured", Reason.MISSING_CAPABILITY)
    request = PictureRequest(
        provider=candidate.provider,
        model=candidate.image_model,
        description=ports.settings.redact(speech.text),
        count=speech.count,
        images=turn.prompt.images if speech.edit and turn.prompt else (),
    )
    now = ports.clock.monotonic()
    left = min(turn.limits.model_call, turn.deadline - now)  # the grace is kept for what has to be said without it
    limit = now + max(left, MODEL_CALL_FLOOR)
    work = ports.providers[candidate.provider].pictures(request)
    try:
        pictures = await within(work, limit, ports.clock, cleanup=turn.limits.cleanup)
    except ProviderError as error:
        raise DeliveryError(told(error.message), error.reason) from error
    except LimitPassedError as error:
        raise DeliveryError(f"no picture within {limit - now:.1f} s", Reason.TIMED_OUT) from error
    except (CancelledByWorkError, Exception) as error:
        raise DeliveryError(told(f"{type(error).__name__}: {error}"), Reason.MALFORMED_RESPONSE) from error
    return evolve(speech, pictures=pictures)


def _painter(turn: Turn) -> Candidate | None:
    """The first candidate of the contract whose provider has an image model and can be asked."""
    candidates = turn.contract.candidates if turn.contract else ()
    return next((c for c in candidates if c.image_model and c.known and c.configured), None)
