"""What a pass sees of the world: where messages come from, typed state, judges, enforcement.

Owns no behaviour; adapters implement one of these and are wired in `surfaces`.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from attrs import field, frozen

from phasewalk.machine.moderation.cases import Case, Checked, Sanction, Strike, Taken, Unfired
from phasewalk.machine.moderation.window import Evidence, Finding, Polled, WindowMessage
from phasewalk.machine.moderation.words import Action
from phasewalk.machine.reasons import Reason


class Source(Protocol):
    """Where messages come from: an export, or a live guild (MOD-10)."""

    @property
    def name(self) -> str:
        """What cursors and cases are kept under: `export:<channel id>` or `live:<guild id>`."""

    @property
    def live(self) -> bool:
        """Whether it is a live guild; an export is never acted upon (MOD-22)."""

    async def poll(self, cursors: Mapping[str, str], limit: int) -> Polled:
        """The messages behind each channel's cursor, oldest first, at most `limit`."""

    async def around(self, message: WindowMessage, count: int) -> Sequence[WindowMessage]:
        """What was said around a message, oldest first; nothing where it cannot be told."""


class Judge(Protocol):
    """Looks at messages and says what it finds; a judge that cannot be asked raises `JudgeError`."""

    @property
    def name(self) -> str:
        """As findings and evidence name it."""

    async def findings(self, messages: Sequence[WindowMessage]) -> Sequence[Finding]:
        """What it finds, in order of the messages."""


@frozen
class Snapshot:
    """Typed state as a pass reads it; computed when asked for and never fed back (MOD-05).

    `failed_passes` is how many passes over the window behind the cursors have failed one after the other, `last_size`
    how many messages the last of them held.
    """

    cursors: Mapping[str, str] = field(factory=dict)
    open_cases: tuple[Case, ...] = ()
    obligations: tuple[Case, ...] = ()
    receipts: tuple[Mapping[str, object], ...] = ()
    failed_passes: int = 0
    last_size: int = 0


class State(Protocol):
    """The one state service (MOD-03), as a pass uses it."""

    def snapshot(self, source: str) -> Snapshot:
        """What stands now."""

    def cases_of(self, source: str, user_ids: Sequence[str], limit: int) -> Sequence[Case]:
        """Open and past cases of these people, newest first."""

    def strikes_of(self, guild_id: str, user_id: str) -> Sequence[Strike]:
        """The strikes of a person that were not revoked, expired ones too, oldest first."""

    def sanctions_since(self, since_us: int) -> int:
        """How many sanctions above `flag` were planned since then, for the cap per hour (MOD-15)."""

    def schema(self, allowed: Sequence[str]) -> str:
        """The JSON schema of a model's answer (MOD-12) as JSON text, an object of `name`, `strict` and `schema`."""

    def check(
        self,
        proposed: Sequence[object],
        allowed: Sequence[str],
        window: Sequence[WindowMessage],
        *,
        source: str,
        evidence: Sequence[str] = (),
        now_us: int = 0,
    ) -> Checked:
        """Validate a batch whole, against the window and what stands; changes nothing (MOD-03, MOD-04, MOD-12)."""

    def planned(self, turn_id: str) -> Sequence[Sanction]:
        """The sanctions that `apply_operations` of this turn has planned, in order, whatever became of them."""

    async def take_lock(self, source: str, turn_id: str) -> str | None:
        """Hold the source's lock for this turn; None when it is held now, else who holds it (MOD-21)."""

    def search(self, text: str, limit: int) -> Sequence[Evidence]:
        """Pieces of history that speak of it, by full text (MOD-11)."""


@frozen
class Standing:
    """What a surface knows of a person who is to be sanctioned; `protected` says why nobody may, else it is empty."""

    protected: str = ""
    present: bool = True


class Enforcer(Protocol):
    """Who carries sanctions out. An export's carries out nothing."""

    async def standing(self, sanction: Sanction) -> Standing:
        """Whether the person may be sanctioned, and is there (MOD-15)."""

    async def act(self, sanction: Sanction) -> Taken:
        """Carry it out, once. Raises `DeliveryInDoubtError` when nobody knows whether it happened."""

    async def settle(self, sanction: Sanction) -> Taken:
        """What came of an earlier `act` of which nobody heard again; acts only if it did not happen."""


@frozen
class Decided:
    """What policy makes of cases: strikes, sanctions, and the rules that did not fire, with why."""

    strikes: tuple[Strike, ...] = ()
    sanctions: tuple[Sanction, ...] = ()
    unfired: tuple[Unfired, ...] = ()


@frozen
class PassOptions:
    """How a pass is to be run. `caps` is the highest action of a channel by its name."""

    may_apply: bool = True
    may_post: bool = True
    window: int = 120
    policy: str = ""
    allowed: tuple[str, ...] = ()
    caps: Mapping[str, Action] = field(factory=dict)


class Policy(Protocol):
    """Deterministic policy over cases (MOD-15)."""

    def decide(self, cases: Sequence[Case], state: State, *, live: bool, may_post: bool, now_us: int) -> Decided:
        """What follows from cases that were opened now."""


@frozen
class Moderation:
    """The world of one pass, beside the ports that every turn has."""

    source: Source
    state: State
    enforcer: Enforcer
    policy: Policy
    judges: tuple[Judge, ...] = ()
    options: PassOptions = field(factory=PassOptions)

    async def refusal(self, turn_id: str) -> Reason | None:
        """Why this pass may not begin: somebody else holds the lock."""
        holder = await self.state.take_lock(self.source.name, turn_id)
        return Reason.LOCK_HELD if holder is not None else None
