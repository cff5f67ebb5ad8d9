"""The errors of phasewalk, one tree, named by whose fault it was.

    PhasewalkError
    +-- CallerError                 wrong input, configuration or use; the message says what would do
    |   +-- ConfigurationError
    |   +-- TableError              a transition table that does not hold together
    |   +-- ExportError             a chat export that cannot be read
    +-- OurError                    a bug of phasewalk or of a phase
    |   +-- IllegalEventError       an event without a row, or whose rows all refuse
    |   +-- PhaseResultError        a phase returned what it had not declared, or what cannot be stored
    |   +-- ContractError           an invariant of the frozen contract is violated
    +-- ProviderError               the model's side failed; carries a `Failure`
    +-- DeliveryError               the surface could not deliver, definitely (`reason`)
    |   +-- DeliveryInDoubtError    nobody knows whether it arrived
    +-- StorageError                the log's side
        +-- LogWriteError           a committed row could not be had
        |   +-- RowRefusedError     since the row itself cannot be stored
        +-- LeaseLostError          the turn belongs to somebody else now
        +-- SchemaVersionError      the file is from another version
        +-- UnreadableLogError      not a readable phasewalk database

Messages are lower case, name the values, and say what would be accepted.
"""

from phasewalk.machine.reasons import Reason


class PhasewalkError(Exception):
    """Base of every error that phasewalk raises on purpose."""


class CallerError(PhasewalkError):
    """What was handed in is wrong."""


class ConfigurationError(CallerError):
    """The configuration cannot be used as it is."""


class TableError(CallerError):
    """A transition table that does not hold together."""


class ExportError(CallerError):
    """A chat export that cannot be read."""


class OurError(PhasewalkError):
    """A bug of phasewalk or of a phase plugged into it."""


class IllegalEventError(OurError):
    """An event that has no row in this phase, or whose rows all refuse (TURN-02)."""

    def __init__(self, turn_id: str, phase: str, event: str, why: str) -> None:
        super().__init__(f"turn {turn_id}: phase {phase!r} cannot take event {event!r}: {why}")
        self.turn_id = turn_id
        self.phase = phase
        self.event = event


class PhaseResultError(OurError):
    """A phase returned what it had not declared, or what cannot be stored (TURN-18)."""

    def __init__(self, phase: str, field: str, problem: str) -> None:
        super().__init__(f"phase {phase!r}, field {field!r}: {problem}")
        self.phase = phase
        self.field = field


class ContractError(OurError):
    """An invariant of the frozen contract is violated (CON-11)."""


class DeliveryError(PhasewalkError):
    """The surface did definitely not deliver."""

    def __init__(self, message: str, reason: Reason = Reason.DELIVERY_FAILED) -> None:
        super().__init__(message)
        self.reason = reason


class DeliveryInDoubtError(DeliveryError):
    """It is not known whether the message arrived."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Reason.DELIVERY_IN_DOUBT)


class StorageError(PhasewalkError):
    """The log's side of a failure."""


class LogWriteError(StorageError):
    """Rows that had to be committed could not be, within the bounded retries (LOG-03)."""


class RowRefusedError(LogWriteError):
    """A row itself cannot be stored, whoever writes it; the log is well otherwise."""


class LeaseLostError(StorageError):
    """The turn belongs to somebody else now; this writer may not write any more (TURN-13)."""


class SchemaVersionError(StorageError):
    """The file was written by a version that this one cannot read."""


class UnreadableLogError(StorageError):
    """Not a readable phasewalk database."""
