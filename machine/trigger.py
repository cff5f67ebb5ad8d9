"""What opens a turn: a message or an occasion, as the surface that heard it hands it over.

Frozen. Knows nothing of what becomes of it.
"""

from attrs import fields, frozen

from phasewalk.machine.documents import digest_of
from phasewalk.machine.words import Addressed, Kind

KEPT_CHARS = 65_536
"""A longer address, which then is the file itself, is not kept."""

LEFT_OUT = "digest:"
"""Begins what stands in the place of an address that is not kept."""


IDLE_PARTS = 4
"""Channel, person, activity and attempt."""


@frozen
class Attachment:
    """A file of a message: its name as sent, where it lies (https or data), its size in bytes, its media type."""

    name: str
    url: str = ""
    size: int = 0
    media_type: str = ""

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold; the bytes of a large file are told by their digest."""
        url = self.url if len(self.url) <= KEPT_CHARS else f"{LEFT_OUT}{digest_of(self.url)}"
        said = {"name": self.name, "url": url, "size": self.size, "media_type": self.media_type}
        return {name: value for name, value in said.items() if value}


@frozen
class Trigger:
    """What opened a turn. `key` is claimed once for ever (TURN-10); ids are strings of digits.

    `families`, where it is not None, are those that the turn may use, decided when its job was made and not by its text
    (TURN-17). `roles` are the ids of the person's roles. `plan_only` and `incognito` restrict this turn as the policy's
    switches restrict all (CON-10).
    """

    key: str
    kind: Kind
    text: str
    channel_id: str
    channel_name: str
    user_id: str
    user_name: str
    guild_id: str = ""
    nickname: str = ""
    topic: str = ""
    message_id: str = ""
    sent_us: int | None = None
    addressed: Addressed | None = None
    reply_to: str = ""
    attachments: tuple[Attachment, ...] = ()
    author_kind: str = "person"
    roles: tuple[str, ...] = ()
    plan_only: bool = False
    incognito: bool = False
    families: tuple[str, ...] | None = None

    @property
    def speaks_to_bot(self) -> bool:
        """Whether somebody waits for an answer: spoken to the bot, or a job that asks."""
        return self.addressed is not None or self.kind is Kind.SCHEDULED

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold: what no column of the turn does, where it says something."""
        return {a.name: getattr(self, a.name) for a in _IN_NO_COLUMN if getattr(self, a.name) not in (a.default, None)}


def idle_key(channel_id: str, user_id: str, activity: str, attempt: int) -> str:
    """The key of a follow-up; `activity` is the id of the person's last message, `attempt` counts from 1 (TURN-10)."""
    return f"{Kind.IDLE}:{channel_id}:{user_id}:{activity}:{attempt}"


def activity_of(trigger: Trigger) -> str:
    """The message after which a conversation went quiet; nothing where the turn is no follow-up (TURN-17)."""
    kind, *parts = trigger.key.split(":")
    return parts[2] if trigger.kind is Kind.IDLE and kind == Kind.IDLE and len(parts) == IDLE_PARTS else ""


def kind_of(key: str) -> str:
    """What heard a trigger of this key: the word before its colon, such as `discord` or `feed` (TURN-10)."""
    return key.partition(":")[0]


_COLUMNS = frozenset({
    "key", "kind", "text", "channel_id", "channel_name", "user_id", "user_name", "guild_id", "message_id", "addressed",
})  # fmt: skip
_IN_NO_COLUMN = tuple(a for a in fields(Trigger) if a.name not in _COLUMNS)
