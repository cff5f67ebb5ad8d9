"""The response envelope: its pinned schema, the strict reader, and the domain rules after the schema.

Owns what counts as a valid answer (ENV-18, ENV-19, ENV-34). Does not know who asked or what becomes of it.
Invariant: a text is read exactly as it stands or refused; nothing is ever repaired.
"""

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import NoReturn

from attrs import evolve
from pydantic import BaseModel, ConfigDict, ValidationError

from phasewalk.machine.documents import digest_of, json_of
from phasewalk.machine.speech import Envelope
from phasewalk.machine.text import NAME_CHARS, clipped, named
from phasewalk.phases.finish import is_blank

PICTURES_MOST = 4
"""The most pictures that one answer may ask for (ENV-26)."""


class EnvelopeError(ValueError):
    """A text that is no valid envelope; the message is one sentence for the log."""


class EnvelopeModel(BaseModel):
    """The envelope as it crosses the boundary: eight keys, all required, no conversion of types."""

    model_config = ConfigDict(strict=True, extra="forbid")

    answer: str | None
    answer_needed: bool
    channel: str | None
    staff: str | None
    picture: str | None
    picture_count: int | None
    picture_edit: bool
    hack: bool


@cache
def _schema_text() -> str:
    return Path(__file__).with_name("envelope_schema.json").read_text(encoding="utf-8")


def schema() -> dict[str, object]:
    """The pinned `name`, `strict` and `schema` of the response format; a fresh copy each time (ENV-19)."""
    return dict(json.loads(_schema_text()))


def schema_digest() -> str:
    """The content address of the schema, independent of how its file is laid out."""
    return digest_of(json_of(schema()))


def parse_envelope(text: str) -> Envelope:
    """The envelope that `text` is; raises `EnvelopeError` for anything but one valid JSON object (ENV-18).

    Any whole number is taken for `picture_count`: the range is a domain rule, see `clamped`.
    """
    value = _strict_json(text)
    if not isinstance(value, dict):
        raise EnvelopeError(f"the answer is a JSON {_json_type(value)}; one JSON object was due")
    try:
        model = EnvelopeModel.model_validate(value)
    except ValidationError as error:
        raise EnvelopeError(_problems(error)) from error
    return Envelope(**model.model_dump())


def clamped(envelope: Envelope, channels: Collection[str]) -> tuple[Envelope, tuple[str, ...]]:
    """The envelope after the domain rules (ENV-09, ENV-34), and a note on each value that was changed.

    `channels` are the names that the contract allows. Blank texts are none; a channel that is blank, "none" or
    not allowed means the channel that the message came from, which is None here.
    """
    channel, about_channel = _channel(envelope.channel, channels)
    picture = _text(envelope.picture)
    count, about_count = _count(envelope.picture_count, asked=picture is not None)
    ruled = evolve(
        envelope,
        answer=_text(envelope.answer),
        channel=channel,
        staff=_text(envelope.staff),
        picture=picture,
        picture_count=count,
    )
    return ruled, (*about_channel, *about_count)


def _text(value: str | None) -> str | None:
    return None if value is None or is_blank(value) else value


def _channel(value: str | None, channels: Collection[str]) -> tuple[str | None, tuple[str, ...]]:
    if value is None or is_blank(value) or value.strip().casefold() == "none":
        return None, ()
    name = value.strip()
    if name in channels:
        return name, ()
    return None, (f"channel {named(name)} is not allowed; the answer stays in the channel of the message",)


def _count(value: int | None, *, asked: bool) -> tuple[int | None, tuple[str, ...]]:
    least = 1 if asked else 0
    if value is None:
        return (least if asked else None), ()
    count = min(max(value, least), PICTURES_MOST)
    if count == value:
        return count, ()
    return count, (
        f"picture_count {clipped(str(value), NAME_CHARS)} became {count}; {least} to {PICTURES_MOST} are allowed",
    )


def _strict_json(text: str) -> object:
    """The one JSON value that `text` is, every text in it encodable."""
    if not text.strip():
        raise EnvelopeError("the answer is empty; one JSON object was due")
    if text.lstrip().startswith("```"):
        raise EnvelopeError("the answer is wrapped in a code fence; the bare JSON object was due")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode()
    except EnvelopeError:
        raise
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise EnvelopeError(f"something follows the JSON object at character {error.pos}") from error
        raise EnvelopeError(f"the answer is no JSON from character {error.pos} on; one object was due") from error
    except UnicodeEncodeError as error:
        raise EnvelopeError("the answer holds half a character, a surrogate without its other half") from error
    except ValueError as error:  # a number of thousands of digits
        raise EnvelopeError("the answer holds a number too long to read; 0 to 4 was due") from error
    except RecursionError as error:
        raise EnvelopeError("the answer is nested too deeply; one flat JSON object was due") from error
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for key in unique if keys.count(key) > 1)
        raise EnvelopeError(f"the key {named(double)} stands twice; once was due")
    return unique


def _refuse_constant(name: str) -> NoReturn:
    raise EnvelopeError(f"{name} is no JSON; null or a number was due")


def _json_type(value: object) -> str:
    names = {str: "string", bool: "boolean", int: "number", float: "number", list: "array"}
    return names.get(type(value), "null")


def _problems(error: ValidationError) -> str:
    """One sentence over all keys that are wrong, without any of the model's values."""
    parts = []
    for problem in error.errors(include_url=False, include_input=False):
        key = str(problem["loc"][0])
        match problem["type"]:
            case "missing":
                parts.append(f"{named(key)} is missing")
            case "extra_forbidden":
                parts.append(f"{named(key)} is not a key of the envelope")
            case _:
                due = EnvelopeModel.model_fields[key].annotation
                parts.append(f"{named(key)} has the wrong type, {getattr(due, '__name__', due)} was due")
    return "the envelope does not match its schema: " + "; ".join(parts)
