"""What the machine sees of the world: the protocols that storage, providers, tools and surfaces implement.

Owns no behaviour. Whoever adds an adapter implements one of these and is wired in `surfaces`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from re import Pattern
from typing import Protocol

from attrs import field, frozen

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.circuit import CircuitAnswer
from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.deadlines import Clock, Commit
from phasewalk.machine.effects import Effect, EffectKind
from phasewalk.machine.errors import PhasewalkError
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.limits import Limits
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import Record, TurnOpened
from phasewalk.machine.redaction import Redactor
from phasewalk.machine.turn import (
    Exchange,
    HistoryEntry,
    ModelReply,
    Picture,
    Prompt,
    Speech,
    Trigger,
)
from phasewalk.machine.words import NoticeCode


class Ids(Protocol):
    """Where ids and randomness come from."""

    def turn_id(self) -> str:
        """A new turn id: sortable by time, unique."""

    def token(self) -> str:
        """A new lease token."""

    def effect_id(self) -> str:
        """A new effect id."""

    def fraction(self) -> float:
        """A number in 0..1, for jitter."""


class TurnLog(Protocol):
    """The log as one turn may write it. Every write carries the turn's token (TURN-13)."""

    def write(self, *records: Record, durable: bool = False) -> Commit:
        """Commit `records` together; `durable` survives a power cut.

        Raises `LogWriteError` when the bounded retries are spent, `LeaseLostError` when the token is no longer
        the turn's.
        """

    async def describe(self, *records: Record) -> None:
        """Commit rows that only describe; a failure is counted as a loss and raises nothing (LOG-03)."""

    async def afterwards(self, *records: Record) -> None:
        """Commit what became known too late to matter, also after the turn has ended (TURN-08)."""


class PhaseLog(Protocol):
    """The log as the runner sees it."""

    async def open(self, opened: TurnOpened, token: str, *records: Record) -> TurnLog | None:
        """Claim the trigger and commit `records`; None when a turn for it exists already (TURN-10)."""

    async def find(self, trigger_key: str) -> str | None:
        """The id of the turn that holds this trigger."""


@frozen
class Earlier:
    """An earlier turn of the same person in the same channel, as classification looks at it (CON-03).

    `text` is what was said; `families` those whose tools ran well then, none where they failed.
    """

    text: str
    families: tuple[str, ...] = ()


class Memory(Protocol):
    """What phases read of earlier turns."""

    async def window(self) -> Sequence[HistoryEntry]:
        """The working window of history over all channels, oldest first (ENV-36)."""

    async def earlier(self, user_id: str, channel_id: str, limit: int) -> Sequence[Earlier]:
        """The last `limit` ended turns of this person in this channel, oldest first."""

    async def summary(self, channel_id: str) -> str | None:
        """What was said in a channel before its working window, in short; None where there is no summary."""

    async def unsummed(self, channel_id: str) -> Sequence[HistoryEntry]:
        """What left the window since the channel's last summary, and people saw, oldest first."""

    async def remembered(self, user_id: str) -> Sequence[str]:
        """What is kept in memory about a person, oldest first."""


@frozen
class ModelRequest:
    """One model call, the same for every provider; each writes it in its own way (CON-13).

    `reminder` is ours, not a person's: what an earlier answer of this turn left out (CON-27).
    """

    candidate: Candidate
    model: str
    prompt: Prompt
    exchanges: tuple[Exchange, ...]
    tools: tuple[ToolSchema, ...]
    turn_id: str
    kind: str = "user"
    speaks_to_bot: bool = True
    reminder: str = ""

    @property
    def source(self) -> str:
        """`provider/model`, as it stands in what this request brings back."""
        return f"{self.candidate.provider}/{self.model}"


class ProviderError(PhasewalkError):
    """How a provider says that a call failed; `kind` is a row of FB-13, `retry_after` in seconds.

    `response` is the body for the log, where there was one.
    """

    def __init__(
        self,
        kind: FailureKind,
        reason: Reason,
        message: str,
        *,
        http_status: int | None = None,
        retry_after: float | None = None,
        finish_reason: str | None = None,
        request_id: str | None = None,
        response: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.reason = reason
        self.message = message
        self.http_status = http_status
        self.retry_after = retry_after
        self.finish_reason = finish_reason
        self.request_id = request_id
        self.response = response


@frozen
class PictureRequest:
    """Pictures to make, or, with `images` (addresses, https or data), to change (ENV-26)."""

    provider: str
    model: str
    description: str
    count: int
    images: tuple[str, ...] = ()


class Provider(Protocol):
    """One way to reach models."""

    def request_text(self, request: ModelRequest) -> str:
        """The request as it will go out, as JSON text for the log; no secret is in it."""

    async def complete(self, request: ModelRequest) -> tuple[ModelReply, str]:
        """The reply and the response as text for the log; raises `ProviderError`."""

    async def pictures(self, request: PictureRequest) -> tuple[Picture, ...]:
        """The pictures; raises `ProviderError`, also where the provider makes none."""


@frozen
class ToolContext:
    """What a tool is told about who asks; chat fields are empty in background turns (TURN-17).

    `readable_channels` are the ids of the channels that the person may read, as far as that is known.
    """

    turn_id: str
    user_id: str
    user_name: str
    channel_id: str
    channel_name: str
    guild_id: str
    now_us: int
    readable_channels: tuple[str, ...] = ()


@frozen
class ToolInfo:
    """A registered tool, without its code."""

    schema: ToolSchema
    family: str
    mutating: bool
    timeout: float | None = None
    required_for: str = ""
    owner_only: bool = False
    approval: bool = False
    speaks: bool = False


@frozen
class ApprovalCall:
    """A call that needs a permission; `arguments` are JSON with sorted keys, so that equal calls are equal texts."""

    turn_id: str
    tool: str
    arguments: str
    user_id: str
    user_name: str
    channel_id: str
    now_us: int


class Circuits(Protocol):
    """Which providers are left alone for a while (FB-15). What turns report goes to the log as `CircuitNoted`."""

    async def admit(self, provider: str, turn_id: str, now_us: int, until_us: int) -> CircuitAnswer:
        """What the provider's circuit says; a half-open one makes one turn its probe, at most until `until_us`."""


class Approvals(Protocol):
    """Permissions of single tool calls: exactly this tool with these arguments, for this person, once (CON-26)."""

    async def take(self, call: ApprovalCall) -> bool:
        """Use up a permission of this call; False when there is none."""

    async def ask(self, call: ApprovalCall) -> str:
        """List the call as waiting for a permission; the id to permit it by, the same for the same call."""


class Tools(Protocol):
    """The tools that exist."""

    def all(self) -> Mapping[str, ToolInfo]:
        """Every registered tool by name."""

    def problem_with(self, name: str, arguments: str) -> str | None:
        """What is wrong with these arguments, in one sentence, or None."""

    def run(self, name: str, arguments: str, context: ToolContext) -> Awaitable[object]:
        """Run a tool whose arguments have been checked; anything it raises is its failure."""


class Surface(Protocol):
    """Where speech goes."""

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:
        """Deliver once and return a receipt.

        Raises `DeliveryError` when it definitely did not arrive, `DeliveryInDoubtError` when nobody knows.
        """


class Admission(Protocol):
    """Whether a trigger may start a turn now (TURN-11)."""

    async def refusal(self, trigger: Trigger) -> Reason | None:
        """Why not, or None."""


class Effects(Protocol):
    """The effects of the turn in hand: intent before, receipt after (CON-22)."""

    def all(self) -> tuple[Effect, ...]:
        """Every effect so far, with its present state."""

    async def intend(self, kind: EffectKind, key: str, target: str, detail: object = None) -> str:
        """Commit the intent, durably; returns the effect's id."""

    async def done(self, effect_id: str, detail: object = None, *records: Record) -> None:
        """Commit the receipt, together with `records`."""

    async def failed(self, effect_id: str, detail: object = None, *records: Record) -> None:
        """Commit that it definitely did not happen."""


@frozen
class Settings:
    """What an operator has decided, as plain values; surfaces make it from the configuration."""

    bot_name: str = "helper"
    persona: str = ""
    news: Callable[[], str] = lambda: ""
    history_limit: int = 40
    history_per_channel: int = 3
    summary_after: int = 20
    short_path: tuple[tuple[Pattern[str], Pattern[str]], ...] = ()
    staff_channel: str | None = None
    allowed_channels: tuple[str, ...] = ()
    unclear: str = "model"
    limits: Limits = field(factory=Limits)
    candidates: tuple[Candidate, ...] = ()
    disabled_tools: tuple[str, ...] = ()
    disabled_families: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    plan_only: bool = False
    incognito: bool = False
    notices: Mapping[NoticeCode, str] = field(factory=dict)
    vocabulary: object = None
    redact: Callable[[str], str] = field(factory=Redactor)
    stickers: tuple[str, ...] = ()
    staff_roles: tuple[str, ...] = ()
    channel_families: Mapping[str, tuple[str, ...]] = field(factory=dict)
    privileges: Mapping[str, str] = field(factory=dict)
    family_labels: Mapping[str, str] = field(factory=dict)


@frozen
class Ports:
    """The world of one turn, as its phases see it."""

    settings: Settings
    clock: Clock
    ids: Ids
    log: TurnLog
    effects: Effects
    memory: Memory
    tools: Tools
    providers: Mapping[str, Provider]
    surface: Surface
    admission: Admission
    circuits: Circuits
    approvals: Approvals
    keep: Callable[..., None]
