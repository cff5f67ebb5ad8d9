"""The turn as a value: what triggered it, what is known of it so far, how it ended.

Everything here is frozen. The runner makes the next `Turn` from the last one and what a phase reported;
nobody else changes one. Times are seconds on the monotonic clock unless a name ends in `_us`.
"""

from collections import Counter
from collections.abc import Mapping

from attrs import evolve, field, frozen

from phasewalk.machine.contract import Classification, Contract
from phasewalk.machine.effects import Effect
from phasewalk.machine.exchange import Exchange, ModelReply, Prompt, identity
from phasewalk.machine.fallback import Failure, Progress
from phasewalk.machine.limits import Limits
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Delivered, Envelope, Plan
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Cause, Kind, Outcome, Owner


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
    tells the next model call what an incomplete answer left out, which is said once (`reminded`, CON-27).
    `opened_us` is when its trigger was claimed, microseconds since the epoch; `claims` how often it was taken in hand.
    """

    turn_id: str
    machine: str
    trigger: Trigger
    limits: Limits
    started: float
    deadline: float
    opened_us: int = 0
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
    reminded: bool = False
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

    def anew(self) -> "Turn":
        """The turn as it begins again: only its trigger is known, and numbers once given go on (TURN-14)."""
        done = self.progress
        counted = Progress(calls=done.calls, considered=done.considered, tool_calls=done.tool_calls)
        return Turn(
            turn_id=self.turn_id,
            machine=self.machine,
            trigger=self.trigger,
            limits=self.limits,
            started=self.started,
            deadline=self.deadline,
            opened_us=self.opened_us,
            token=self.token,
            claims=self.claims,
            progress=counted,
        )

    def changed(self, changes: Mapping[str, object]) -> "Turn":
        """The turn with these fields changed; whoever calls this has checked them against `FIELDS`."""
        return evolve(self, **changes) if changes else self  # type: ignore[arg-type]


def identical_calls(turn: Turn) -> int:
    """How often the most repeated call, with the same arguments, was asked for in this turn."""
    counts = Counter(identity(call) for exchange in turn.exchanges for call in exchange.calls)
    return max(counts.values(), default=0)


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
    "reminded": (bool,),
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
