"""Reading requests and writing answers the way Discord's API does.

Owns the bytes of both. Knows no endpoint. Invariant: JSON goes by its bare type, because the client parses it only
then.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web
from attrs import frozen

from phasewalk.surfaces.discord_testing.values import Json


@frozen
class Given:
    """What a request brought: its body, parsed, and its files as `filename` and `content`.

    A body that is no JSON is `unreadable` and stands here as the text that it is.
    """

    body: Any
    files: Sequence[Json] = ()
    unreadable: bool = False

    @property
    def named(self) -> tuple[Json, ...]:
        """The files by name and size."""
        return tuple({"filename": one["filename"], "size": len(one["content"])} for one in self.files)


async def read(request: web.Request) -> Given:
    """Read a request to its end."""
    if not request.content_type.startswith("multipart/"):
        return _parsed(await request.text(), ())
    fields = await request.post()
    files = [
        {"filename": sent.filename, "content": sent.file.read()}
        for sent in fields.values()
        if isinstance(sent, web.FileField)
    ]
    return _parsed(str(fields.get("payload_json", "{}")), files)


def _parsed(text: str, files: Sequence[Json]) -> Given:
    try:
        return Given(json.loads(text) if text else None, files)
    except ValueError:
        return Given(text, files, unreadable=True)


def answer(status: int, shown: Any, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer: JSON, a text as text, or no content for None."""
    if shown is None:
        return web.Response(status=204, headers=headers)
    if isinstance(shown, str):
        return web.Response(status=status, text=shown, headers=headers)
    packed = json.dumps(shown).encode()
    return web.Response(status=status, body=packed, content_type="application/json", headers=headers)


def limits(bucket: str) -> dict[str, str]:
    """Headers of a limit that is far away: limits are scripted, see `faults`."""
    limit = {"Limit": "100", "Remaining": "99", "Reset": "4102444800.000", "Reset-After": "0.100", "Bucket": bucket}
    return {f"X-RateLimit-{name}": value for name, value in limit.items()}
