"""Gets the images that are to be changed, as the files that the image API takes (ENV-26).

Owns how an address becomes bytes: a data address is decoded, an https one is fetched, under a limit of size and of
time. Knows no provider. Invariant: an image that cannot be had is a typed failure, and no key goes along.
"""

import asyncio
import base64
import binascii
from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

import httpx2

from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.openai_faults import Asked
from phasewalk.phases.providers.openai_pictures import media_type_of

BYTES_MOST = 20_000_000
"""A larger image is not fetched to its end."""

SECONDS_MOST = 30.0
"""All images of a request are fetched within this time."""

Upload = tuple[str, bytes, str]
"""File name, bytes, media type."""

_FOUND = 200


class Images:
    """Fetches images from wherever they lie; `close` ends its connections."""

    def __init__(self, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        """Takes a while, as whatever reads the certificates of the system does; `transport` is for tests."""
        self._client = httpx2.AsyncClient(timeout=SECONDS_MOST, follow_redirects=False, transport=transport)

    async def files(self, addresses: Sequence[str], asked: Asked) -> list[Upload]:
        """The images behind these addresses, in order; raises `ProviderError`, which counts them from 1."""
        try:
            async with asyncio.timeout(SECONDS_MOST):
                return [await _upload(number, at, self._client, asked) for number, at in enumerate(addresses, 1)]
        except TimeoutError as error:
            what = f"the images to change did not come within {SECONDS_MOST:g} s"
            raise asked.fault(FailureKind.TRANSIENT, Reason.TIMED_OUT, what) from error

    async def close(self) -> None:
        """Close the client; it cannot be used afterwards."""
        await self._client.aclose()


async def _upload(number: int, address: str, client: httpx2.AsyncClient, asked: Asked) -> Upload:
    scheme, _, rest = address.partition(":")
    try:
        data = _decoded(rest) if scheme.lower() == "data" else await _fetched(address, client)
    except _UnfitError as error:
        raise asked.fault(error.kind, error.reason, f"image {number} to change {error}") from error
    media_type = media_type_of(data)
    if media_type is None:
        what = f"image {number} to change is no PNG, JPEG, GIF or WebP"
        raise asked.fault(FailureKind.PERMANENT, Reason.MALFORMED_RESPONSE, what)
    return f"image-{number}.{media_type.removeprefix('image/')}", data, media_type


class _UnfitError(Exception):
    """Why an image cannot be had; `reason` where it was under way."""

    def __init__(self, what: str, reason: Reason | None = None) -> None:
        super().__init__(what)
        self.kind = FailureKind.TRANSIENT if reason else FailureKind.PERMANENT
        self.reason = reason or Reason.MALFORMED_RESPONSE


def _decoded(rest: str) -> bytes:
    """The bytes of a data address, after its scheme."""
    described, comma, content = rest.partition(",")
    if not comma:
        raise _UnfitError("has a data address without a comma")
    if not described.lower().endswith(";base64"):
        return unquote_to_bytes(content)
    try:
        return base64.b64decode(unquote_to_bytes(content), validate=True)
    except binascii.Error as error:
        raise _UnfitError("has a data address that is no base64") from error


async def _fetched(address: str, client: httpx2.AsyncClient) -> bytes:
    if not address.lower().startswith("https://"):
        raise _UnfitError("has neither a data nor an https address")
    try:
        async with client.stream("GET", address, headers={"accept-encoding": "identity"}) as response:
            if response.status_code != _FOUND:
                raise _UnfitError(f"could not be fetched, status {response.status_code}", Reason.CONNECTION_FAILED)
            return await _capped(response)
    except httpx2.TimeoutException as error:
        raise _UnfitError("could not be fetched in time", Reason.TIMED_OUT) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _UnfitError(f"could not be fetched, {type(error).__name__}", Reason.CONNECTION_FAILED) from error


async def _capped(response: httpx2.Response) -> bytes:
    data = bytearray()
    async for chunk in response.aiter_raw():
        data.extend(chunk)
        if len(data) > BYTES_MOST:
            raise _UnfitError(f"is larger than {BYTES_MOST // 1_000_000} MB")
    return bytes(data)
