"""Asks for pictures and reads them (ENV-26): what goes to the image API, what comes back, what sort of picture it is.

Knows no client and opens nothing. Invariant: a picture is bytes whose first ones say what they are; whatever else
comes is a typed failure.
"""

import base64
import binascii

from attrs import define

from phasewalk.machine.provider import PictureRequest
from phasewalk.machine.speech import Picture
from phasewalk.phases.providers.openai_body import Reading
from phasewalk.phases.providers.openai_faults import Answered, Asked

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def media_type_of(data: bytes) -> str | None:
    """The media type that the first bytes tell: PNG, JPEG, GIF or WebP; None for anything else."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)


def picture_body(request: PictureRequest) -> dict[str, object]:
    """What the image API is asked for.

    OpenAI's own models always send the picture itself and reject the parameter that asks for it; other servers
    send an address unless asked.
    """
    body: dict[str, object] = {"prompt": request.description, "model": request.model, "n": request.count}
    return body if "gpt-image" in request.model else {**body, "response_format": "b64_json"}


def read_pictures(asked: Asked, answered: Answered, now: float, most: int) -> tuple[Picture, ...]:
    """The pictures in `answered`, at least one and no more than `most`; raises `ProviderError`."""
    return _Reader(asked, answered, now).pictures(most)


@define
class _Reader(Reading):
    def pictures(self, most: int) -> tuple[Picture, ...]:
        return tuple(map(self._picture, self.entries(self.body(), "data")[:most]))

    def _picture(self, entry: dict[str, object]) -> Picture:
        encoded = entry.get("b64_json")
        if not isinstance(encoded, str):
            came = "only the address of a picture" if entry.get("url") else "no picture"
            raise self.malformed(f"the answer holds {came}, the picture itself as b64_json was due")
        try:
            data = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.malformed("a picture of the answer is no base64") from error
        media_type = media_type_of(data)
        if media_type is None:
            raise self.malformed("a picture of the answer is no PNG, JPEG, GIF or WebP")
        return Picture(data, media_type)
