"""When a failing provider is left alone for a while (FB-15): which failures count, and what a circuit says.

Owns the words and the pure questions. Does not know where circuits are kept; storage counts and opens them.
Invariant: a failure is counted once a provider and turn, when the executor leaves the provider failed.
"""

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen

from phasewalk.machine.fallback import Failure, FailureKind
from phasewalk.machine.reasons import Reason


class CircuitState(StrEnum):
    """What a circuit says to a turn that wants to ask its provider."""

    CLOSED = "closed"
    OPEN = "open"
    PROBE = "probe"


class CircuitEvent(StrEnum):
    """What a turn reports about a provider that it asked."""

    FAILED = "failed"
    SUCCEEDED = "succeeded"
    RELEASED = "released"


@frozen
class CircuitAnswer:
    """The state for one turn, with the values that were compared; `PROBE` makes this turn the one that tries."""

    state: CircuitState = CircuitState.CLOSED
    values: Mapping[str, object] = field(factory=dict)


_COUNTED_KINDS = frozenset({FailureKind.RATE_LIMITED, FailureKind.TRANSIENT})
_COUNTED_REASONS = frozenset(
    {
        Reason.HTTP_429,
        Reason.NO_CHOICES,
        Reason.MALFORMED_RESPONSE,
        Reason.EMPTY_ANSWER,
        Reason.TRUNCATED,
        Reason.ENVELOPE_INVALID,
    },
)


def counts(failure: Failure) -> bool:
    """Whether this failure speaks against the provider: time-out, connection, 5xx, 429, malformed output.

    Refusals, safety blocks, other 4xx, the context limit and our own bugs do not.
    """
    return failure.kind in _COUNTED_KINDS or failure.reason in _COUNTED_REASONS
