"""One message of a chat export as a value, made from a record that may be old, odd or incomplete.

Owns the meaning of a record's keys; knows neither files nor the order of messages.
Invariant: every text is storable, every id a canonical decimal number in a string, every instant in microseconds.
"""

import json
from datetime import UTC, datetime, timedelta

from attrs import asdict, frozen

from phasewalk.machine.text import storable
from phasewalk.machine.trigger import Attachment

_DISCORD_EPOCH_MS = 1_420_070_400_000
_SNOWFLAKE_TIME_SHIFT = 22
_LARGEST_ID = 2**64 - 1
_LONGEST_ID = 20
_LARGEST_SIZE = 2**63 - 1
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WRITTEN_KINDS = frozenset({"Default", "0", "Reply", "19", "20", "23"})
"""What people and bots write: messages, replies and what commands answer; also as the numbers of the API."""


class RecordError(ValueError):
    """A record that cannot be used; the message is the reason under which it is counted."""


@frozen
class ExportMessage:
    """A message as the export tells it.

    `sent_us` is microseconds since 1970; ids are strings of digits, "" if unknown; `kind` is the export's type.
    """

    message_id: str
    kind: str
    sent_us: int
    edited: bool
    text: str
    author_id: str
    author_name: str
    nickname: str
    is_bot: bool
    is_webhook: bool
    attachments: tuple[Attachment, ...] = ()
    mention_ids: tuple[str, ...] = ()
    mention_names: tuple[str, ...] = ()
    reply_to: str = ""
    role_ids: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """What messages are ordered by: the id as a number."""
        return int(self.message_id)

    @property
    def is_system(self) -> bool:
        """Whether the platform announced it (a join, a pin, a new thread, a kind nobody knows) and nobody wrote it."""
        return self.kind not in _WRITTEN_KINDS

    def line(self) -> str:
        """The message as one line of JSON, for `message_of_line`."""
        return json.dumps(asdict(self, recurse=False), default=asdict, separators=(",", ":"))


@frozen
class ExportInfo:
    """Where the messages come from; "" for what the export does not say. `exported_at` is text as it stands there."""

    guild_id: str = ""
    guild_name: str = ""
    channel_id: str = ""
    channel_name: str = ""
    topic: str = ""
    exported_at: str = ""


def message_of_line(line: str) -> ExportMessage:
    """The message that `ExportMessage.line` wrote."""
    values = json.loads(line)
    values["attachments"] = tuple(Attachment(**item) for item in values["attachments"])
    for name in ("mention_ids", "mention_names", "role_ids"):
        values[name] = tuple(values[name])
    return ExportMessage(**values)


def info_of(guild: object, channel: object, exported_at: object) -> ExportInfo:
    """What the root of an export says about itself; anything missing or of the wrong type is left empty."""
    return ExportInfo(
        guild_id=id_of(_get(guild, "id")),
        guild_name=_text(_get(guild, "name")),
        channel_id=id_of(_get(channel, "id")),
        channel_name=_text(_get(channel, "name")),
        topic=_text(_get(channel, "topic")),
        exported_at=_text(exported_at),
    )


def message_of(record: object) -> ExportMessage:
    """The message in a record.

    Raises:
        RecordError: the record is no object, or its id is no snowflake.
    """
    if not isinstance(record, dict):
        raise RecordError("not an object")
    message_id = id_of(record.get("id"))
    if not message_id:
        raise RecordError("no usable id")
    author = record.get("author")
    name = _text(_get(author, "name")) or "unknown"
    is_bot = _get(author, "isBot") is True
    mentions = _objects(record.get("mentions"))
    return ExportMessage(
        message_id=message_id,
        kind=_kind(record.get("type")),
        sent_us=_instant(record.get("timestamp"), message_id),
        edited=bool(record.get("timestampEdited")),
        text=_text(record.get("content")),
        author_id=id_of(_get(author, "id")),
        author_name=name,
        nickname=_text(_get(author, "nickname")) or name,
        is_bot=is_bot,
        # A bot always has a discriminator of its own; the four zeros of a person are a person without one.
        is_webhook=is_bot and _get(author, "discriminator") == "0000",
        attachments=tuple(_attachment(item) for item in _objects(record.get("attachments"))),
        mention_ids=tuple(id_of(item.get("id")) for item in mentions),
        mention_names=tuple(_text(item.get("name")) for item in mentions),
        reply_to=_reply_target(record.get("reference")),
        role_ids=tuple(filter(None, (id_of(item.get("id")) for item in _objects(_get(author, "roles"))))),
    )


def id_of(value: object) -> str:
    """`value` as a canonical id, "" if it is none. Numbers count: some tools write ids without quotes."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if isinstance(value, str) and len(value) <= _LONGEST_ID and value.isascii() and value.isdecimal():
        number = int(value)
    return str(number) if 0 < number <= _LARGEST_ID else ""


def _instant(value: object, message_id: str) -> int:
    """Microseconds of a timestamp; of the id when the timestamp is missing, unreadable, or older than Discord."""
    from_id = ((int(message_id) >> _SNOWFLAKE_TIME_SHIFT) + _DISCORD_EPOCH_MS) * 1000
    if not isinstance(value, str):
        return from_id
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return from_id
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    stamped = (aware - _UNIX_EPOCH) // timedelta(microseconds=1)
    return stamped if stamped >= _DISCORD_EPOCH_MS * 1000 else from_id


def _kind(value: object) -> str:
    """The export's type as text; a record without one was written before there were others."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(value) or "Default"


def _reply_target(reference: object) -> str:
    """The id that a message answers; a forwarded message refers to another one and answers nobody."""
    return "" if _get(reference, "type") == "Forward" else id_of(_get(reference, "messageId"))


def _attachment(item: dict[str, object]) -> Attachment:
    size = item.get("fileSizeBytes")
    known = size if isinstance(size, int) and 0 < size <= _LARGEST_SIZE else 0
    return Attachment(_text(item.get("fileName")), _text(item.get("url")), known)


def _get(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return storable(value) if isinstance(value, str) else ""
