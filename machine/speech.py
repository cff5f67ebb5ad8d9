"""What is to be said: the envelope of an answer, the speeches that it comes to, and what became of them.

Frozen values; each says how the log's phase rows hold it. Delivers nothing.
"""

from attrs import fields_dict, frozen

from phasewalk.machine.words import NoticeCode


@frozen
class Envelope:
    """The model's structured answer after the schema (ENV-19); domain rules come later."""

    answer: str | None
    answer_needed: bool
    channel: str | None = None
    staff: str | None = None
    picture: str | None = None
    picture_count: int | None = None
    picture_edit: bool = False
    hack: bool = False

    def document(self) -> dict[str, object]:
        """The fields that say something; the others are null or false."""
        return {name: getattr(self, name) for name in fields_dict(Envelope) if getattr(self, name) not in (None, False)}


@frozen
class Picture:
    """A picture as made: its bytes and their media type."""

    data: bytes
    media_type: str = "image/png"


@frozen
class Speech:
    """One thing to deliver: `kind` is an effect kind, `target` a channel name, `notice` set for fixed texts.

    Of kind `picture`, `text` describes what is to be made, `count` says how many, `edit` whether the images of the
    message are to be changed; `pictures` are there once they are made.
    """

    kind: str
    target: str
    text: str
    reply_to: str = ""
    notice: NoticeCode | None = None
    count: int = 0
    edit: bool = False
    pictures: tuple[Picture, ...] = ()

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold: what says something, and never the bytes of pictures."""
        names = (name for name in fields_dict(Speech) if name != "pictures")
        return {name: getattr(self, name) for name in names if getattr(self, name)}


@frozen
class Plan:
    """What deliver is to do; may be empty."""

    speeches: tuple[Speech, ...] = ()

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold: enough to deliver it after a crash."""
        return {"speeches": self.speeches}

    def __bool__(self) -> bool:
        return bool(self.speeches)


@frozen
class Delivered:
    """A speech that reached its target, with the surface's receipt."""

    speech: Speech
    receipt: str

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold; the text stands with its effect."""
        return {"kind": self.speech.kind, "receipt": self.receipt}
