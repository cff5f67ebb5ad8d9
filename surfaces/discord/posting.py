"""One message posted on Discord, and what Discord's answer means for its delivery (DIS-04, DIS-05, DIS-07).

Knows no turn and no retry. Invariants: every body that leaves says who may be pinged, and carries its nonce.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import discord

from phasewalk.machine.effects import EffectKind
from phasewalk.machine.errors import DeliveryError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Speech
from phasewalk.machine.text import told
from phasewalk.machine.trigger import Trigger

BROKEN = (aiohttp.ClientError, OSError, TimeoutError, discord.DiscordServerError)
"""After these nobody knows what arrived."""

TOO_MANY = 429
UNTOLD = 5.0
"""Seconds to wait where it is not said how long."""


class AskedToWaitError(DeliveryError):
    """It was not taken, and may be sent again after so many `seconds`."""

    def __init__(self, said: str, seconds: float) -> None:
        super().__init__(said, Reason.DELIVERY_FAILED)
        self.seconds = seconds


async def post(place: discord.PartialMessageable, speech: Speech, trigger: Trigger, key: str) -> str:
    """Post `speech`; the id of its message.

    What Discord rejects as a reply has not arrived, and is posted again as a message of its own. Raises
    `DeliveryError` when it was refused, and one of `BROKEN` when nobody knows what became of it.
    """
    reference = _reference(speech, trigger, place)
    if reference is not None:
        try:
            return await _posted(place, speech, trigger, key, reference)
        except DeliveryError as error:
            if error.reason != Reason.DELIVERY_REJECTED:
                raise
    return await _posted(place, speech, trigger, key, None)


async def _posted(
    place: discord.PartialMessageable,
    speech: Speech,
    trigger: Trigger,
    key: str,
    reference: discord.MessageReference | None,
) -> str:
    answers = speech.kind in (EffectKind.ANSWER, EffectKind.PICTURE) and trigger.user_id.isdigit()
    pinged = discord.AllowedMentions(
        everyone=False,
        roles=False,
        users=[discord.Object(int(trigger.user_id))] if answers else False,
        replied_user=answers,
    )
    pictures = speech.kind == EffectKind.PICTURE
    with refusals():
        message = await place.send(
            None if pictures else speech.text,
            files=_files(speech) if pictures else [],
            nonce=key,
            allowed_mentions=pinged,
            reference=reference,  # type: ignore[arg-type]  # the library takes None, its overloads do not say so
        )
    return str(message.id)


@contextmanager
def refusals() -> Iterator[None]:
    """Within this block Discord's refusals become the deliveries' own; what is `BROKEN` passes as it is."""
    try:
        yield
    except discord.Forbidden as error:
        raise DeliveryError(_said(error), Reason.DELIVERY_FORBIDDEN) from error
    except discord.NotFound as error:
        raise DeliveryError(_said(error), Reason.DELIVERY_TARGET_GONE) from error
    except discord.RateLimited as error:
        raise DeliveryError(f"Discord asks to wait {error.retry_after:.0f} s", Reason.DELIVERY_FAILED) from error
    except BROKEN:
        raise
    except discord.HTTPException as error:
        if error.status == TOO_MANY:  # from the network before Discord: the library does not wait for that
            raise AskedToWaitError(_said(error), _seconds(error)) from error
        raise DeliveryError(_said(error), Reason.DELIVERY_REJECTED) from error


def _reference(speech: Speech, trigger: Trigger, place: discord.PartialMessageable) -> discord.MessageReference | None:
    """What it replies to; only in the channel in which that stands."""
    if not speech.reply_to.isdigit() or str(place.id) != trigger.channel_id:
        return None
    return discord.MessageReference(message_id=int(speech.reply_to), channel_id=place.id, fail_if_not_exists=False)


def _files(speech: Speech) -> list[discord.File]:
    return [
        discord.File(io.BytesIO(one.data), f"picture-{number}.{one.media_type.rpartition('/')[2]}")
        for number, one in enumerate(speech.pictures, 1)
    ]


def _seconds(error: discord.HTTPException) -> float:
    try:
        return max(float(error.response.headers.get("Retry-After", UNTOLD)), 0.0)
    except ValueError:
        return UNTOLD


def _said(error: discord.HTTPException) -> str:
    return told(f"{error.status} (code {error.code}) {error.text}".strip())
