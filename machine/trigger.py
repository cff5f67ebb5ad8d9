"""What opens a turn: a message or an occasion, as the surface that heard it hands it over.

Frozen. Knows nothing of what becomes of it.
"""

from attrs import frozen

from phasewalk.machine.words import Addressed, Kind


@frozen
class Attachment:
    """A file of a message: its name as sent, where it lies (https or data), its size in bytes, its media type."""

    name: str
    url: str = ""
    size: int = 0
    media_type: str = ""


@frozen
class Trigger:
    """What opened a turn. `key` is claimed once for ever (TURN-10); ids are strings of digits.

    `roles` are the ids of the person's roles. `plan_only` and `incognito` restrict this turn as the policy's
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

    @property
    def speaks_to_bot(self) -> bool:
        """Whether somebody waits for an answer: spoken to the bot, or a job that asks."""
        return self.addressed is not None or self.kind is Kind.SCHEDULED
