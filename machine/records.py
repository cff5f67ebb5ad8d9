"""The rows of the log as values. The machine and its phases make them; storage knows how to write them.

They are made once, written once and never changed; not frozen only because freezing costs a tenth of the walk.
Times `*_us` are integer microseconds since the epoch, `mono_ns` nanoseconds on the monotonic clock.
"""

from attrs import define

from phasewalk.machine.circuit import CircuitEvent
from phasewalk.machine.documents import Payload
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.reasons import Reason
from phasewalk.machine.words import Cause, Decision, Outcome, Owner


@define
class TurnOpened:
    """A trigger was claimed."""

    turn_id: str
    machine: str
    machine_hash: str
    kind: str
    trigger_key: str
    guild_id: str
    channel_id: str
    channel_name: str
    user_id: str
    user_name: str
    trigger_message_id: str
    text: Payload
    started_us: int
    deadline_us: int
    addressed: str | None
    parent_turn_id: str | None = None


@define
class PhaseEntered:
    """A visit begins; committed before its work."""

    seq: int
    phase: str
    visit: int
    at_us: int
    mono_ns: int
    budget_ms: int | None
    detail: str | None = None
    payloads: tuple[Payload, ...] = ()


@define
class PhaseExited:
    """A visit ended with an event, and this row of the table was taken."""

    seq: int
    phase: str
    visit: int
    at_us: int
    mono_ns: int
    event: str
    transition: str
    to_phase: str
    guards: str | None
    reason: Reason | None
    detail: str | None
    payloads: tuple[Payload, ...] = ()


@define
class TurnMoved:
    """The turn's summary follows its phase."""

    phase: str
    attempts: int
    rounds: int
    effects: int
    contract_hash: str | None


@define
class TurnEnded:
    """The one end of a turn."""

    at_us: int
    outcome: Outcome
    reason: Reason
    reason_phase: str
    first_reason: Reason | None
    owner: Owner | None
    notice_code: str | None
    reply_message_id: str | None
    attempts: int
    rounds: int
    effects: int
    contract_hash: str | None
    flags: str | None = None


@define
class ContractFrozen:
    """A distinct contract, stored once under its digest."""

    digest: str
    body: str
    at_us: int


@define
class AttemptStarted:
    """A model call is about to be made.

    `request_digest` is that of the body on the wire; its parts stand in the log by content: the prompt with the
    end of build_prompt, calls and results with their rows.
    """

    n: int
    cause: Cause
    provider: str
    model: str
    api: str
    started_us: int
    request_digest: str


@define
class AttemptEnded:
    """A model call has ended."""

    n: int
    status: str
    reason: Reason | None
    ended_us: int
    http_status: int | None = None
    retry_after_ms: int | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    request_id: str | None = None
    message: str | None = None
    response: Payload | None = None


@define
class FallbackConsidered:
    """A candidate was taken, skipped or refused, or the last one is exhausted (FB-14)."""

    step: int
    at_us: int
    provider: str
    model: str
    decision: Decision
    reason: Reason
    rule: str
    values: str


@define
class CircuitNoted:
    """What a turn reports about a provider that it asked (FB-15); `reason` where it failed.

    The limits are those of the turn: so many `failures` within `window_us` open the circuit for `cooldown_us`.
    """

    provider: str
    event: CircuitEvent
    at_us: int
    reason: Reason | None
    failures: int
    window_us: int
    cooldown_us: int


@define
class ToolStarted:
    """A tool call was asked for and is about to run."""

    round: int
    call_id: str
    provider_call_id: str
    name: str
    effect: str
    arguments: Payload
    started_us: int


@define
class ToolEnded:
    """What became of a tool call."""

    call_id: str
    status: str
    reason: Reason | None
    ended_us: int
    result: Payload | None = None


@define
class EffectIntended:
    """Something that cannot be taken back is about to happen; committed durably before it does."""

    effect_id: str
    kind: EffectKind
    idempotency_key: str
    target: str
    at_us: int
    detail: str | None = None
    payloads: tuple[Payload, ...] = ()


@define
class EffectSettled:
    """What became of an effect: `kind` is `receipt`, `failed` or `resolved`."""

    effect_id: str
    kind: str
    at_us: int
    detail: str | None = None


@define
class Said:
    """Something that enters history. `state` is `sent`, `in_doubt`, `failed`, or None for what others said."""

    channel_id: str
    role: str
    author_id: str
    author: str
    text: str
    at_us: int
    message_id: str = ""
    unit: str = ""
    state: str | None = None
    call: str | None = None


@define
class HistoryTrimmed:
    """The working window is brought back to these limits, behind what this turn added (ENV-07, ENV-11)."""

    limit: int
    per_channel: int
    at_us: int


@define
class Summarised:
    """What was said in a channel up to an entry, in short; comes in place of the channel's earlier summary."""

    channel_id: str
    upto_entry_id: int
    text: str
    at_us: int


Record = (
    TurnOpened
    | PhaseEntered
    | PhaseExited
    | TurnMoved
    | TurnEnded
    | ContractFrozen
    | AttemptStarted
    | AttemptEnded
    | FallbackConsidered
    | CircuitNoted
    | ToolStarted
    | ToolEnded
    | EffectIntended
    | EffectSettled
    | Said
    | HistoryTrimmed
    | Summarised
)
