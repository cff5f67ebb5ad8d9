"""Turns whatever a tool returns into text for the model and for history (CON-23).

Owns `as_text`. Does not redact and knows no tool. Invariant: it never raises, the text can be stored, is no
longer than asked for, and is the same in every process (no memory addresses, sets in order).
"""

import base64
import dataclasses
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, time
from enum import Enum
from typing import TypeVar

import attrs
from pydantic import BaseModel

from phasewalk.machine.text import storable

T = TypeVar("T")

LIMIT = 8000
"""Characters of a result that a model is shown."""

_DEPTH = 40
_ITEMS = 100_000
_PRINTABLE_BITS = 12_000
"""Python refuses to print integers of more than 4,300 digits; this is safely below."""

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+(?=>)")

_JOINERS = "\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-15}\N{VARIATION SELECTOR-16}"
_SKIN_TONES = range(0x1F3FB, 0x1F400)


def as_text(value: object, limit: int = LIMIT) -> str:
    """`value` as text of at most `limit` characters: a string as it is, anything else as JSON.

    What JSON cannot say is said in words: dates in ISO form, bytes as UTF-8 or base64, sets as sorted lists,
    NaN by name, cycles and broken objects as `<...>`. Of a longer text head and tail are kept and the cut is
    announced. NUL and lone surrogates become U+FFFD.
    """
    plain = _Plain().of(value, 0)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return storable(shortened(text, limit))


def shortened(text: str, limit: int) -> str:
    """`text`, or its head and tail around a line that says how much is missing; `limit` characters at most."""
    if len(text) <= limit:
        return text
    room = limit - len(_cut_mark(len(text), len(text)))
    if room < 2:  # noqa: PLR2004 - one character of head and one of tail
        return text[: max(limit, 0)]
    head_end = _boundary(text, room - room // 3, -1)
    tail_start = _boundary(text, len(text) - room // 3, 1)
    return text[:head_end] + _cut_mark(tail_start - head_end, len(text)) + text[tail_start:]


def _cut_mark(missing: int, total: int) -> str:
    return f"\n[... {missing} of {total} characters left out ...]\n"


def _boundary(text: str, index: int, step: int) -> int:
    """The nearest place from `index` on where no character sequence is torn apart, looked for 16 steps far."""
    place = index
    for _ in range(16):
        if not 0 < place < len(text) or not (_continues(text[place]) or text[place - 1] == _JOINERS[0]):
            return place
        place += step
    return index


def _continues(char: str) -> bool:
    return char in _JOINERS or ord(char) in _SKIN_TONES or bool(unicodedata.combining(char))


class _Plain:
    """One conversion to what JSON can hold; counts items and remembers the way down to find cycles."""

    def __init__(self) -> None:
        self._left = _ITEMS
        self._above: set[int] = set()

    def of(self, value: object, depth: int) -> object:
        """`value` with nothing in it but text, numbers, booleans, None, lists and dicts."""
        try:
            return self._convert(value, depth)
        except Exception as error:  # noqa: BLE001 - the objects of a tool may raise anything; the turn goes on
            return f"<{type(value).__name__}: {type(error).__name__}>"

    def _convert(self, value: object, depth: int) -> object:
        for cls, simple in _SIMPLE:
            if isinstance(value, cls):
                return simple(value)
        parts = _parts(value)
        return _said(value) if parts is None else self._descend(value, parts, depth)

    def _descend(self, value: object, parts: Mapping[object, object] | Iterable[object], depth: int) -> object:
        if id(value) in self._above:
            return "<cycle>"
        if depth >= _DEPTH:
            return "<nested too deeply>"
        self._above.add(id(value))
        try:
            return self._container(parts, depth + 1)
        finally:
            self._above.discard(id(value))

    def _container(self, parts: Mapping[object, object] | Iterable[object], depth: int) -> object:
        if isinstance(parts, Mapping):
            return {self._key(key): self.of(part, depth) for key, part in self._some(parts.items(), ("...", "..."))}
        items = [self.of(part, depth) for part in self._some(parts, "...")]
        if isinstance(parts, AbstractSet):
            items.sort(key=lambda item: json.dumps(item, ensure_ascii=False))
        return items

    def _key(self, key: object) -> str:
        plain = self.of(key, _DEPTH - 1)
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

    def _some(self, items: Iterable[T], rest: T) -> Iterable[T]:
        """The items as far as the count of the whole conversion allows, then `rest`."""
        for item in items:
            if self._left <= 0:
                yield rest
                return
            self._left -= 1
            yield item


def _enum(value: Enum) -> object:
    return value.value if isinstance(value.value, str | int) else value.name


def _integer(value: int) -> int | str:
    return int(value) if value.bit_length() < _PRINTABLE_BITS else hex(value)


def _float(value: float) -> float | str:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _bytes(value: bytes) -> str:
    raw = bytes(value)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(raw).decode('ascii')}"


def _exception(value: BaseException) -> str:
    return f"{type(value).__name__}: {value}"


_SIMPLE: tuple[tuple[type | tuple[type, ...], Callable[..., object]], ...] = (
    (Enum, _enum),
    (str, str.__str__),
    ((bool, type(None)), lambda value: value),
    (int, _integer),
    (float, _float),
    ((bytes, bytearray, memoryview), _bytes),
    ((date, time), lambda value: value.isoformat()),
    (BaseException, _exception),
)
"""What becomes one JSON value, and how; the first row that fits decides."""


def _parts(value: object) -> Mapping[object, object] | Iterable[object] | None:
    """What a container holds, or None when `value` is none."""
    if isinstance(value, Mapping | AbstractSet):
        return value
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, type):
        return None
    cls = type(value)
    if attrs.has(cls):
        return {a.name: getattr(value, a.name) for a in attrs.fields(cls)}
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return value if isinstance(value, Sequence) else None


def _said(value: object) -> str:
    """What an object says of itself, without where it lies in memory."""
    return _ADDRESS.sub("", str(value))
