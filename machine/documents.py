"""Turns values into the JSON that is stored, and refuses what cannot be stored (TURN-18).

Owns the one encoding of values: attrs classes become objects of their fields, or of what their
`document()` says. Long texts are spilled into payloads, stored once by content (LOG-12).
Invariant: what `encode` returns can be read back with nothing but a JSON parser.
"""

import hashlib
import json
from collections.abc import Mapping

import attrs
from attrs import frozen

from phasewalk.machine.text import storable

SPILL_OVER = 240
"""Texts longer than this many characters leave the row and become payloads."""


class NotStorableError(ValueError):
    """A value that JSON cannot hold; `path` tells where it stands."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'value'}: {problem}")
        self.path = path
        self.problem = problem


@frozen
class Payload:
    """A text stored once under the digest of its content."""

    digest: str
    text: str


@frozen
class Encoded:
    """JSON text, and the payloads that it refers to as `{"payload": digest}`."""

    text: str
    payloads: tuple[Payload, ...] = ()


def digest_of(text: str) -> str:
    """The content address of a text: 32 hexadecimal digits of BLAKE2b."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def payload_of(text: str) -> Payload:
    """The payload that holds `text`, made storable."""
    clean = storable(text)
    return Payload(digest_of(clean), clean)


def encode(value: object) -> Encoded:
    """The JSON text of `value`; raises `NotStorableError` naming the place of what cannot be stored."""
    text = json_of(value)
    if len(text) <= SPILL_OVER:
        return Encoded(text)
    payloads: dict[str, Payload] = {}
    spilled = _spill(json.loads(text), payloads)
    return Encoded(json_of(spilled), tuple(payloads.values())) if payloads else Encoded(text)


def json_of(value: object) -> str:
    """The JSON text of `value`, whole; raises `NotStorableError` naming the place of what cannot be stored."""
    try:
        text = _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _located(value, error) from error
    return text if text.isascii() else storable(text)


def _plain(value: object) -> object:
    names = _fields(type(value))
    if names is not None:
        document = getattr(value, "document", None)
        return document() if document is not None else {name: getattr(value, name) for name in names}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be stored; text, numbers, lists, objects and attrs values can")


_ENCODER = json.JSONEncoder(default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


_FIELDS: dict[type, tuple[str, ...] | None] = {}


def _fields(cls: type) -> tuple[str, ...] | None:
    """The field names of an attrs class, looked up once a class; None for any other."""
    if cls not in _FIELDS:
        _FIELDS[cls] = tuple(a.name for a in attrs.fields(cls)) if attrs.has(cls) else None
    return _FIELDS[cls]


def _spill(value: object, payloads: dict[str, Payload]) -> object:
    if isinstance(value, str) and len(value) > SPILL_OVER:
        payload = payload_of(value)
        payloads[payload.digest] = payload
        return {"payload": payload.digest}
    if isinstance(value, list):
        return [_spill(item, payloads) for item in value]
    if isinstance(value, dict):
        return {key: _spill(item, payloads) for key, item in value.items()}
    return value


def _located(value: object, error: Exception) -> NotStorableError:
    """The innermost place that cannot be encoded, found by trying each part alone."""
    path, seen = "", set()
    while id(value) not in seen:
        seen.add(id(value))
        for step, part in _parts(value):
            try:
                json.dumps(part, default=_plain, allow_nan=False)
            except (TypeError, ValueError, RecursionError) as inner:
                path, value, error = path + step, part, inner
                break
    return NotStorableError(path, str(error))


def _parts(value: object) -> list[tuple[str, object]]:
    names = _fields(type(value))
    if names is not None:
        return [(f".{name}", getattr(value, name)) for name in names]
    if isinstance(value, Mapping):
        return [(f"[{key!r}]", part) for key, part in value.items()]
    if isinstance(value, list | tuple):
        return [(f"[{index}]", part) for index, part in enumerate(value)]
    return []
