"""The closed vocabularies that more than one file speaks: kinds, outcomes, attempt causes.

Owns the words, their meaning and nothing else. Reasons have a file of their own (`reasons.py`).
Every set here is mirrored by a CHECK constraint of the log; a test holds both together.
"""

from enum import StrEnum

RECEIVED = "received"
CLASSIFY = "classify"
FREEZE_CONTRACT = "freeze_contract"
BUILD_PROMPT = "build_prompt"
MODEL_ATTEMPT = "model_attempt"
TOOL_ROUNDS = "tool_rounds"
VALIDATE_ENVELOPE = "validate_envelope"
DELIVER = "deliver"
RECORD = "record"
DONE = "done"


class Kind(StrEnum):
    """What opened a turn."""

    USER = "user"
    SCHEDULED = "scheduled"
    IDLE = "idle"
    PASS = "pass"


class Addressed(StrEnum):
    """How a person spoke to the bot; an overheard message has none of these."""

    DIRECT = "direct"
    MENTION = "mention"
    REPLY = "reply"


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    SILENT = "silent"
    SHORT_PATH = "short_path"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    UNCLEAR = "unclear"
    STOPPED = "stopped"
    PARTIAL = "partial"
    UNDELIVERED = "undelivered"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    IN_DOUBT = "in_doubt"
    ABANDONED = "abandoned"
    COMPLETED = "completed"
    NOTHING_TO_DO = "nothing_to_do"


class Cause(StrEnum):
    """Why a model call is made; the label that a row of the table gives to the visit it opens."""

    FIRST = "first"
    RETRY = "retry"
    RETRY_MODEL = "retry_model"
    SHRUNK = "shrunk"
    TOOL_RESULTS = "tool_results"
    FALLBACK = "fallback"
    PROBE = "probe"


class Owner(StrEnum):
    """Who made the text that the person sees (CON-28)."""

    MODEL = "model"
    TOOL = "tool"
    NOTICE = "notice"


class NoticeCode(StrEnum):
    """The fixed texts that are not answers (FB-20)."""

    ALL_FAILED = "all_failed"
    PARTIAL = "partial"
    DEADLINE = "deadline"
    RESTART = "restart"
    CONTEXT_LIMIT = "context_limit"
    UNAVAILABLE = "unavailable"
    UNCLEAR = "unclear"
    SAFETY = "safety"
    BUSY = "busy"


class Decision(StrEnum):
    """What became of a candidate that was considered (FB-14)."""

    TAKEN = "taken"
    SKIPPED = "skipped"
    REFUSED = "refused"
    EXHAUSTED = "exhausted"
