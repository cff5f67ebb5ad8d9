"""The closed vocabularies of moderation: infringements, gravities, actions, results, and why an operation is refused.

Owns the words, their order and their defaults. Mirrored by CHECK constraints of the log; a test holds both together.
"""

from collections.abc import Mapping
from enum import StrEnum


class Infringement(StrEnum):
    """What a message breaks (MOD-16)."""

    THREAT = "threat"
    HATE = "hate"
    HARASSMENT = "harassment"
    SEXUAL = "sexual"
    SCAM = "scam"
    SPAM = "spam"
    OFF_TOPIC = "off_topic"


EXPIRY_DAYS: Mapping[Infringement, int] = {
    Infringement.THREAT: 365,
    Infringement.HATE: 180,
    Infringement.HARASSMENT: 90,
    Infringement.SEXUAL: 90,
    Infringement.SCAM: 90,
    Infringement.SPAM: 30,
    Infringement.OFF_TOPIC: 14,
}
"""Days after which a strike does not count any more; configuration may change them (MOD-16)."""


class Gravity(StrEnum):
    """How grave a model holds an infringement to be (MOD-12)."""

    CASE_ONLY = "case_only"
    STRIKE = "strike"
    INSTANT_BAN = "instant_ban"


class CaseStatus(StrEnum):
    """Where a case stands; the first two are open."""

    PENDING = "pending"
    WATCHING = "watching"
    ANSWERED = "answered"
    RESOLVED = "resolved"
    CLOSED = "closed"
    RETIRED = "retired"
    DROPPED = "dropped"

    @property
    def is_open(self) -> bool:
        """Whether something is still to be done."""
        return self in (CaseStatus.PENDING, CaseStatus.WATCHING)


class Mode(StrEnum):
    """What enforcement may do (MOD-15)."""

    LOG_ONLY = "log_only"
    NOTIFY_STAFF = "notify_staff"
    TIMEOUT = "timeout"
    POLICY = "policy"


class Action(StrEnum):
    """The ladder, mildest first; `provider_filtered` and the like go to staff as a `flag` (MOD-15)."""

    FLAG = "flag"
    WARN = "warn"
    DELETE = "delete"
    TIMEOUT = "timeout"
    KICK = "kick"
    BAN = "ban"

    @property
    def rank(self) -> int:
        """Its place on the ladder, from 0."""
        return list(Action).index(self)


class Result(StrEnum):
    """What really happened with a sanction (MOD-16)."""

    APPLIED = "applied"
    ALREADY = "already"
    FORBIDDEN = "forbidden"
    GONE = "gone"
    NOT_TAKEN = "not_taken"


class OperationStatus(StrEnum):
    """What became of an operation (table `operation`)."""

    APPLIED = "applied"
    WOULD_APPLY = "would_apply"
    DUPLICATE = "duplicate"
    REFUSED = "refused"


class Fault(StrEnum):
    """Why an operation is refused, or counts as a duplicate; one word each (MOD-04, MOD-12)."""

    NOT_AN_OBJECT = "not_an_object"
    UNKNOWN_OPERATION = "unknown_operation"
    NOT_ALLOWED = "not_allowed"
    UNKNOWN_FIELD = "unknown_field"
    MISSING_FIELD = "missing_field"
    BAD_VALUE = "bad_value"
    BAD_ID = "bad_id"
    PROJECTION = "projection"
    UNKNOWN_MESSAGE = "unknown_message"
    WRONG_AUTHOR = "wrong_author"
    QUOTE_NOT_FOUND = "quote_not_found"
    OWN_MESSAGE = "own_message"
    BOT_AUTHOR = "bot_author"
    WEBHOOK_AUTHOR = "webhook_author"
    EXEMPT = "exempt"
    CURSOR_BACKWARDS = "cursor_backwards"
    NO_EVIDENCE = "no_evidence"
    NOT_FOUND = "not_found"
    TOO_MANY = "too_many"
    CONFLICT = "conflict"
    BATCH_REFUSED = "batch_refused"
    ALREADY_APPLIED = "already_applied"
