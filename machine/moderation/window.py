"""What a pass looks at: messages of a window, what judges find in them, and pieces of evidence.

Frozen values; ids are strings of digits, times microseconds since the epoch.
"""

from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

from phasewalk.machine.moderation.words import Infringement

AuthorKind = Literal["person", "bot", "webhook", "self", "system"]
"""Who wrote a message: a person, another bot, a webhook, the bot itself, or the platform."""


@frozen
class WindowMessage:
    """A message as a pass reviews it. `addressed` says that it speaks to the bot; `exempt` that its author never is
    sanctioned (owner, staff, exempt role). `attachments` are file names.
    """

    message_id: str
    channel_id: str
    author_id: str
    text: str
    sent_us: int
    channel_name: str = ""
    guild_id: str = ""
    author_name: str = ""
    author_kind: AuthorKind = "person"
    roles: tuple[str, ...] = ()
    reply_to: str = ""
    attachments: tuple[str, ...] = ()
    addressed: bool = False
    exempt: bool = False

    @property
    def number(self) -> int:
        """What messages are ordered by (MOD-03)."""
        return int(self.message_id)

    @property
    def by_person(self) -> bool:
        """Whether somebody wrote it against whom a case may be opened."""
        return self.author_kind == "person"

    def document(self) -> dict[str, object]:
        """What a model is shown of it; texts are data."""
        said: dict[str, object] = {
            "id": self.message_id,
            "channel": self.channel_name or self.channel_id,
            "author_id": self.author_id,
            "author": self.author_name,
            "author_kind": self.author_kind,
            "sent_us": self.sent_us,
            "text": self.text,
        }
        if self.reply_to:
            said["reply_to"] = self.reply_to
        if self.attachments:
            said["attachments"] = self.attachments
        if self.addressed:
            said["addressed"] = True
        return said


@frozen
class Finding:
    """What a judge finds in one message: evidence, never the verdict (MOD-11).

    `score` runs from 0 to 1; `quote` stands in the message; `why` is a sentence. `urgent` findings bind the
    witness gate (MOD-13).
    """

    judge: str
    message_id: str
    infringement: Infringement
    rule: str
    why: str
    quote: str = ""
    score: float = 1.0
    urgent: bool = False


@frozen
class Evidence:
    """A piece of evidence under a reference that operations may name (`evidenceRefs`)."""

    ref: str
    kind: str
    text: str
    message_id: str = ""


@frozen
class Polled:
    """What a source gave: a window, oldest first, and what it left out.

    `starts` is the cursor of each channel of the window before it ("" where it had none); `failed` says of channels
    that could not be read why; `more` that there is more behind the window.
    """

    messages: tuple[WindowMessage, ...]
    starts: Mapping[str, str] = field(factory=dict)
    failed: Mapping[str, str] = field(factory=dict)
    more: bool = False
