"""Walks the JSON of a chat export as a stream and hands over the parts of its root one by one.

Owns the walk and the difference between "ends too early" and "is no JSON"; knows the names of the keys but not what
they mean. Invariant: never more than one message record is held, and parts before a fault are handed over first.
"""

from collections.abc import Iterator
from typing import IO, Any, Literal, NoReturn

import ijson  # type: ignore[import-untyped]  # ijson ships no types
from attrs import frozen

_CHUNK_BYTES = 65_536
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DEEPEST = 100
_OPENING = ("start_map", "start_array")
_CLOSING = ("end_map", "end_array")
_DAMAGE = (ijson.JSONError, ValueError)
"""What the parser raises: its own errors and, in its pure Python form, ValueError for a number of many digits."""
_ROOT_KEYS = frozenset({"guild", "channel", "exportedAt", "messageCount"})
_RECORD_KEYS = frozenset(
    {"id", "type", "timestamp", "timestampEdited", "content", "author", "attachments", "mentions", "reference"}
)

PartName = Literal["guild", "channel", "exportedAt", "messageCount", "messages", "message"]
Event = tuple[str, object]


class JsonCutOffError(Exception):
    """The bytes end before the document does."""


class JsonUnreadableError(Exception):
    """The bytes are no JSON, or JSON that is no export. The message is a clause that follows the file's name."""


@frozen
class Part:
    """One part of the root: a key with its value, the opening of `messages` (value None), or one record of it."""

    name: PartName
    value: object = None


def parts_of(stream: IO[bytes]) -> Iterator[Part]:
    """The parts of the export in `stream`, in file order; keys that nobody asks for are passed over unread.

    Raises:
        JsonCutOffError: the stream ends inside the document.
        JsonUnreadableError: it is not JSON in UTF-8, or no export.
    """
    events = _events(stream)
    event, _ = next(events)
    if event != "start_map":
        raise JsonUnreadableError(f"the JSON is {_described(event)}, but an export is an object with a list 'messages'")
    messages_seen = False
    for event, key in events:
        if event == "end_map":
            break
        kind, value = next(events)
        if key == "messages":
            messages_seen = True
            yield from _messages(events, kind)
        elif key in _ROOT_KEYS:
            yield Part(key, _value(events, kind, value))  # type: ignore[arg-type]  # a member of _ROOT_KEYS is a PartName
        else:
            _skip(events, kind)
    if not messages_seen:
        raise JsonUnreadableError("the JSON object has no key 'messages', so it is no DiscordChatExporter export")
    next(events, None)  # whatever follows the document is a fault that only further reading brings to light


def _messages(events: Iterator[Event], kind: str) -> Iterator[Part]:
    """The opening of the list, then each of its records."""
    if kind != "start_array":
        raise JsonUnreadableError(f"'messages' is {_described(kind)}, but an export holds a list there")
    yield Part("messages")
    for event, value in events:
        if event == "end_array":
            return
        yield Part("message", _record(events) if event == "start_map" else _value(events, event, value))


def _record(events: Iterator[Event]) -> dict[str, object]:
    """One message with the keys that are of use; long lists of embeds and reactions are never built."""
    record: dict[str, object] = {}
    for event, key in events:
        if event == "end_map":
            break
        kind, value = next(events)
        if key in _RECORD_KEYS:
            record[str(key)] = _value(events, kind, value)
        else:
            _skip(events, kind)
    return record


def _value(events: Iterator[Event], event: str, value: object) -> object:
    """The value that begins with this event, built whole."""
    builder = ijson.ObjectBuilder()
    builder.event(event, value)
    depth = int(event in _OPENING)
    while depth:
        event, value = next(events)
        builder.event(event, value)
        depth += (event in _OPENING) - (event in _CLOSING)
    return builder.value


def _skip(events: Iterator[Event], event: str) -> None:
    """Pass over the value that begins with this event."""
    depth = int(event in _OPENING)
    while depth:
        event, _ = next(events)
        depth += (event in _OPENING) - (event in _CLOSING)


def _events(stream: IO[bytes]) -> Iterator[Event]:
    """Parser events. Bytes are pushed, so an error while pushing is damage and an error at the end is a cut."""
    waiting = ijson.sendable_list()
    # Without use_float the parser's C part crashes the process over an integer of more than 4,300 digits.
    parser = ijson.basic_parse_coro(waiting, use_float=True)
    depth = 0
    for position, chunk in _chunks(stream):
        damage: Exception | None = None
        try:
            parser.send(chunk)
        except _DAMAGE as error:
            damage = error
        for event in waiting:
            depth += (event[0] in _OPENING) - (event[0] in _CLOSING)
            if depth > _DEEPEST:
                raise JsonUnreadableError(f"the JSON is nested deeper than {_DEEPEST} levels, which no export is")
            yield event
        if damage is not None:
            raise JsonUnreadableError(
                f"between the bytes {position} and {position + len(chunk)} stands something that is no JSON in UTF-8, "
                "but an export is one JSON object and nothing else"
            ) from damage
        waiting.clear()
    yield from _at_the_end(parser, waiting, started=depth > 0)


def _at_the_end(parser: Any, waiting: list[Event], *, started: bool) -> Iterator[Event]:
    """The events that only the end of the bytes brings; an open document is cut off."""
    try:
        parser.close()
    except _DAMAGE as error:
        if started:
            raise JsonCutOffError from error
        _refuse_fragment(error)
    yield from waiting


def _refuse_fragment(error: Exception) -> NoReturn:
    raise JsonUnreadableError(
        "the file is empty or holds no JSON, but an export is one JSON object with a list 'messages'"
    ) from error


def _chunks(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Pieces of the stream with their position, without the mark that some editors put first."""
    position = 0
    try:
        while chunk := stream.read(_CHUNK_BYTES):
            yield position, chunk if position else chunk.removeprefix(_BYTE_ORDER_MARK)
            position += len(chunk)
    except OSError as error:
        raise JsonUnreadableError(f"reading failed at byte {position} ({error.strerror}); try a copy") from error


def _described(event: str) -> str:
    """The kind of value that an event begins, with its article."""
    names = {"start_map": "an object", "start_array": "a list", "string": "a text", "boolean": "a boolean"}
    return names.get(event, "null" if event == "null" else "a number")
