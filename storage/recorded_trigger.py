"""The trigger of a turn of the log, as the surface had handed it over.

Owns what stands in columns, what beside them, and what older logs tell by a prompt alone. Invariant: what the log does
not hold is left out, and never guessed.
"""

from typing import Any

from attrs import fields_dict

from phasewalk.machine.trigger import LEFT_OUT, Attachment, Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.storage.recorded_turn import RecordedTurn, Text


def trigger_of(record: RecordedTurn) -> Trigger:
    """What opened the turn; what older logs do not hold is taken from its prompt, or left out."""
    turn, kept = record.turn, kept_of(record)
    said = dict(kept) if kept is not None else _from_prompt(record)
    attachments = tuple(_attachment(file) for file in said.pop("attachments", ()))
    known: Any = {name: tuple(v) if isinstance(v, list) else plain_of(v) for name, v in said.items() if name in _FIELDS}
    return Trigger(
        key=str(turn["trigger_key"]),
        kind=Kind(str(turn["kind"])),
        text=record.question.body or "",
        channel_id=str(turn["channel_id"]),
        channel_name=str(turn["channel_name"]),
        user_id=str(turn["user_id"]),
        user_name=str(turn["user_name"]),
        guild_id=str(turn["guild_id"]),
        message_id=str(turn["trigger_message_id"]),
        addressed=Addressed(str(turn["addressed_by"])) if turn["addressed_by"] else None,
        attachments=attachments,
        **known,
    )


_FIELDS = frozenset(fields_dict(Trigger))


def kept_of(record: RecordedTurn) -> dict[str, Any] | None:
    """What the log keeps of the trigger beside its columns; None in logs that did not keep it."""
    kept = record.stays[0].opening.get("trigger") if record.stays else None
    return kept if isinstance(kept, dict) else {} if record.turn["machine"] == "summary" else None


def _from_prompt(record: RecordedTurn) -> dict[str, Any]:
    """Nickname, topic and names of files as a prompt showed them."""
    message = record.prompt.get("user", {}).get("message", {})
    files = [{"name": plain_of(name), "url": LEFT_OUT} for name in message.get("attachments", ())]
    return {"nickname": message.get("nickname", ""), "topic": message.get("topic", ""), "attachments": files}


def _attachment(file: dict[str, Any]) -> Attachment:
    """A file; one whose bytes were left out stands in with an address that leads nowhere."""
    said = {name: plain_of(value) for name, value in file.items()}
    url = str(said.get("url", ""))
    if url.startswith(LEFT_OUT):
        kind = str(said.get("media_type", "image/png"))
        said |= {"url": f"data:{kind};base64,", "media_type": kind}
    return Attachment(**said)


def plain_of(value: object) -> Any:
    """The body of a logged text, empty where it was pruned; any other value as it is."""
    return (value.body or "") if isinstance(value, Text) else value
