"""What the machine sees of the world: the protocols that storage, providers, tools and surfaces implement.

Owns no behaviour. Whoever adds an adapter implements one of these and is wired in `surfaces`.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from re import Pattern
from typing import Protocol

from attrs import field, frozen

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.circuit import CircuitAnswer
from phasewalk.machine.deadlines import Clock, Commit
from phasewalk.machine.effects import Effect, EffectKind
from phasewalk.machine.exchange import HistoryEntry
from phasewalk.machine.limits import Limits
from phasewalk.machine.provider import Provider
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import Record, TurnOpened
from phasewalk.machine.redaction import Redactor
from phasewalk.machine.speech import Speech
from phasewalk.machine.tooling import Approvals, Tools
from phasewalk.machine.trigger import Trigger
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

    async def claim(self, turn_id: str, held: str, token: str, until_us: int) -> TurnLog | None:
        """Take over a turn that stands under the token `held`; None when somebody else has, or it has ended (TURN-14).

        `until_us` is its new deadline.
        """


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


class Circuits(Protocol):
    """Which providers are left alone for a while (FB-15). What turns report goes to the log as `CircuitNoted`."""

    async def admit(self, provider: str, turn_id: str, now_us: int, until_us: int) -> CircuitAnswer:
        """What the provider's circuit says; a half-open one makes one turn its probe, at most until `until_us`."""


class Sight(StrEnum):
    """What a surface sees of what is answered, looked at again before speaking (DIS-09).

    A follow-up is overtaken when its person has said something since (TURN-17).
    """

    AS_IT_WAS = "as_it_was"
    CHANGED = "changed"
    GONE = "gone"
    OVERTAKEN = "overtaken"


class Surface(Protocol):
    """Where speech goes."""

    def parts(self, speech: Speech) -> Sequence[Speech]:
        """How a speech has to be cut; each part is sent, and gets its receipt, for itself (DIS-04)."""

    async def look(self, trigger: Trigger) -> Sight:
        """Whether what is answered still stands as it was; raises nothing, what cannot be seen is as it was."""

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:
        """Deliver once and return a receipt. `speech` is one that `parts` has returned.

        Raises `DeliveryError` when it definitely did not arrive, `DeliveryInDoubtError` when nobody knows.
        """

    async def settle(self, speech: Speech, trigger: Trigger, key: str, intended_us: int) -> str:
        """The receipt of an earlier `send`, intended at this instant, of which nobody heard again (TURN-14).

        It is sent with the same key while that is remembered, else looked for, and sent again only when it is
        certain that it is not there. Raises as `send` does; `DeliveryInDoubtError` when it cannot be found out.
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
    when_gone: str = "answer"
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
