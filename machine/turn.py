"""The turn as a value: what triggered it, what is known of it so far, how it ended.

Everything here is frozen. The runner makes the next `Turn` from the last one and what a phase reported;
nobody else changes one. Times are seconds on the monotonic clock unless a name ends in `_us`.
"""

import json
from collections.abc import Mapping

from attrs import evolve, field, fields_dict, frozen

from phasewalk.machine.contract import Classification, Contract
from phasewalk.machine.effects import Effect
from phasewalk.machine.fallback import Failure, Progress
from phasewalk.machine.limits import Limits
from phasewalk.machine.reasons import Reason
from phasewalk.machine.words import Addressed, Cause, Kind, NoticeCode, Outcome, Owner


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


@frozen
class HistoryEntry:
    """One entry of the conversation. `entry_id` is its row in the log, `seen` whether people saw it (ENV-32).

    An entry of role `tool` carries its `call`; `unit` ties it to the others of its round (ENV-11).
    """

    role: str
    text: str
    author: str = ""
    author_id: str = ""
    entry_id: int = 0
    unit: str = ""
    channel_id: str = ""
    call: "ToolCall | None" = None
    seen: bool = True


@frozen
class Prompt:
    """What every model call of the turn is built from; frozen in build_prompt (ENV-20, ENV-35).

    `persona` is byte-stable, `context` follows it in the system message, `user` is the JSON of the person's
    message and everything that outsiders wrote (ENV-28). `images` are addresses, https or data, of the images
    of the message. `structured` says that an envelope is due; else any text is an answer.
    """

    persona: str
    context: str
    history: tuple[HistoryEntry, ...]
    user: str
    prefix_digest: str
    estimated_tokens: int = 0
    images: tuple[str, ...] = ()
    structured: bool = True

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold; history by the rows of `message` that it shows (LOG-12)."""
        return {
            "persona": self.persona,
            "context": self.context,
            "user": json.loads(self.user),
            "history": _runs([entry.entry_id for entry in self.history]),
            "estimated_tokens": self.estimated_tokens,
        }


@frozen
class ToolCall:
    """A call that a model asked for. `call_id` is ours, `provider_id` stays on the wire (CON-21)."""

    call_id: str
    provider_id: str
    name: str
    arguments: str


@frozen
class ToolResult:
    """What the model is told about a call. `status` is one of the log's; `text` is safe to send."""

    call: ToolCall
    status: str
    text: str
    reason: Reason | None = None


@frozen
class Exchange:
    """One round: the calls of one reply and a result for each.

    `items` are the reply's own, see `ModelReply`; `source` names the `provider/model` that alone may see them again.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    said: str = ""
    items: tuple[str, ...] = ()
    source: str = ""

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold; the items are sealed and of use to nobody else."""
        return {"calls": self.calls, "results": self.results} | ({"said": self.said} if self.said else {})


@frozen
class ModelReply:
    """A usable reply of a provider: text, or calls. Tokens are None where the provider does not count.

    `items` are what the provider wants back with the results, each as JSON text (ENV-23); `source` is the
    `provider/model` that made them.
    """

    text: str | None
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    request_id: str | None = None
    items: tuple[str, ...] = ()
    source: str = ""

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold; the whole answer stands with its attempt."""
        return {"calls": self.calls} if self.calls else {}


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


@frozen
class Stop:
    """Why a turn left the path to an answer: the event, its reason, the phase where it arose."""

    event: str
    reason: Reason
    phase: str


@frozen
class Turn:
    """Everything known of one turn. Fields that a phase may set are named by that phase.

    `admitted` are the providers whose circuit let this turn pass, `asking` the one that is being asked. `reminder`
    tells the next model call what an incomplete answer left out (CON-27).
    """

    turn_id: str
    machine: str
    trigger: Trigger
    limits: Limits
    started: float
    deadline: float
    token: str = ""
    claims: int = 1
    cause: Cause | None = None
    classification: Classification | None = None
    contract: Contract | None = None
    prompt: Prompt | None = None
    progress: Progress = field(factory=Progress)
    offered: tuple[str, ...] = ()
    reply: ModelReply | None = None
    exchanges: tuple[Exchange, ...] = ()
    failure: Failure | None = None
    first_failure: Failure | None = None
    skipped: tuple[str, ...] = ()
    admitted: tuple[str, ...] = ()
    asking: str = ""
    missing: tuple[str, ...] = ()
    reminder: str = ""
    envelope: Envelope | None = None
    plan: Plan | None = None
    delivered: tuple[Delivered, ...] = ()
    delivery_reason: Reason | None = None
    superseded: bool = False
    stop: Stop | None = None
    effects: tuple[Effect, ...] = ()
    owner: Owner | None = None
    flags: tuple[str, ...] = ()
    outcome: Outcome | None = None
    reason: Reason | None = None

    @property
    def kind(self) -> Kind:
        """What opened the turn."""
        return self.trigger.kind

    def changed(self, changes: Mapping[str, object]) -> "Turn":
        """The turn with these fields changed; whoever calls this has checked them against `FIELDS`."""
        return evolve(self, **changes) if changes else self  # type: ignore[arg-type]


def identical_calls(turn: Turn) -> int:
    """How often the most repeated call, with the same arguments, was asked for in this turn."""
    counts: dict[tuple[str, str], int] = {}
    for exchange in turn.exchanges:
        for call in exchange.calls:
            key = (call.name, call.arguments)
            counts[key] = counts.get(key, 0) + 1
    return max(counts.values(), default=0)


def _runs(numbers: list[int]) -> list[list[int]]:
    """Ascending numbers as [first, last] runs: a long history in a few bytes."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


FIELDS: Mapping[str, tuple[type, ...]] = {
    "classification": (Classification,),
    "contract": (Contract,),
    "prompt": (Prompt,),
    "progress": (Progress,),
    "offered": (tuple,),
    "reply": (ModelReply,),
    "exchanges": (tuple,),
    "failure": (Failure, type(None)),
    "first_failure": (Failure,),
    "skipped": (tuple,),
    "admitted": (tuple,),
    "asking": (str,),
    "missing": (tuple,),
    "reminder": (str,),
    "envelope": (Envelope,),
    "plan": (Plan,),
    "delivered": (tuple,),
    "delivery_reason": (Reason, type(None)),
    "superseded": (bool,),
    "owner": (Owner,),
    "flags": (tuple,),
    "cause": (Cause,),
    "outcome": (Outcome,),
    "reason": (Reason,),
}
"""What a phase may set on a turn, and of which type it must be (TURN-18)."""
