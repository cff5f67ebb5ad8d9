"""The closed list of reasons: why a turn ended, an attempt failed, a call was refused.

Owns code, severity and meaning of each reason; the `reason` table of the log is filled from it.
Invariant: nothing is ever logged as a reason that is not a member of `Reason`.
"""

from enum import StrEnum
from typing import Literal

Severity = Literal["info", "warning", "error"]


class Reason(StrEnum):
    """A machine-readable cause. `severity` and `meaning` come from the table below."""

    OK = "ok"
    ANSWER_NOT_NEEDED = "answer_not_needed"
    SHORT_PATH = "short_path"
    NOTHING_TO_DO = "nothing_to_do"
    QUEUE_FULL = "queue_full"
    WAIT_TOO_LONG = "wait_too_long"
    USER_LIMIT = "user_limit"
    PAUSED = "paused"
    SHUTTING_DOWN = "shutting_down"
    DUPLICATE = "duplicate"
    OWN_MESSAGE = "own_message"
    BOT_AUTHOR = "bot_author"
    WEBHOOK_AUTHOR = "webhook_author"
    REQUIREMENT_UNAVAILABLE = "requirement_unavailable"
    REQUEST_UNCLEAR = "request_unclear"
    CONTEXT_LIMIT = "context_limit"
    DEADLINE_PASSED = "deadline_passed"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    CANDIDATES_EXHAUSTED = "candidates_exhausted"
    SIDE_EFFECTS = "side_effects"
    SAFETY_BLOCK = "safety_block"
    REFUSED_BY_MODEL = "refused_by_model"
    HTTP_429 = "http_429"
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    RATE_LIMITED = "rate_limited"
    CONNECTION_FAILED = "connection_failed"
    TIMED_OUT = "timed_out"
    NO_CHOICES = "no_choices"
    MALFORMED_RESPONSE = "malformed_response"
    EMPTY_ANSWER = "empty_answer"
    TRUNCATED = "truncated"
    ENVELOPE_INVALID = "envelope_invalid"
    COMPOUND_INCOMPLETE = "compound_incomplete"
    UNKNOWN_PROVIDER = "unknown_provider"
    UNCONFIGURED_PROVIDER = "unconfigured_provider"
    MISSING_CAPABILITY = "missing_capability"
    NO_MODEL = "no_model"
    CIRCUIT_OPEN = "circuit_open"
    ROUNDS_EXHAUSTED = "rounds_exhausted"
    IDENTICAL_CALLS = "identical_calls"
    TOOL_FAILED = "tool_failed"
    TOOL_TIMED_OUT = "tool_timed_out"
    TOOL_DENIED = "tool_denied"
    NOT_IN_CONTRACT = "not_in_contract"
    POLICY_DENIED = "policy_denied"
    OWNER_ONLY = "owner_only"
    APPROVAL_NEEDED = "approval_needed"
    ARGUMENTS_INVALID = "arguments_invalid"
    DELIVERY_FORBIDDEN = "delivery_forbidden"
    DELIVERY_TARGET_GONE = "delivery_target_gone"
    DELIVERY_REJECTED = "delivery_rejected"
    DELIVERY_FAILED = "delivery_failed"
    DELIVERY_IN_DOUBT = "delivery_in_doubt"
    LEASE_LOST = "lease_lost"
    PROCESS_GONE = "process_gone"
    CLAIMS_EXHAUSTED = "claims_exhausted"
    LOG_WRITE_FAILED = "log_write_failed"
    PHASE_RESULT_INVALID = "phase_result_invalid"
    INTERNAL_ERROR = "internal_error"
    WITNESS_UNMET = "witness_unmet"
    OPERATION_REFUSED = "operation_refused"
    LOCK_HELD = "lock_held"

    @property
    def severity(self) -> Severity:
        """How much an operator should care: `info`, `warning` or `error`."""
        return _TABLE[self][0]

    @property
    def meaning(self) -> str:
        """One sentence for people, without a full stop."""
        return _TABLE[self][1]


_TABLE: dict[Reason, tuple[Severity, str]] = {
    Reason.OK: ("info", "everything that was due reached its target"),
    Reason.ANSWER_NOT_NEEDED: ("info", "nobody had spoken to the bot and the model saw no need to answer"),
    Reason.SHORT_PATH: ("info", "channel and author match a short-path rule: archived without a model call"),
    Reason.NOTHING_TO_DO: ("info", "there was no work"),
    Reason.QUEUE_FULL: ("warning", "too many turns were waiting"),
    Reason.WAIT_TOO_LONG: ("warning", "the turn waited longer for its start than max-wait allows"),
    Reason.USER_LIMIT: ("info", "this person has as many pending turns as one person may have"),
    Reason.PAUSED: ("info", "an operator has paused the bot"),
    Reason.SHUTTING_DOWN: ("info", "the process was being stopped"),
    Reason.DUPLICATE: ("info", "a turn for this trigger exists already"),
    Reason.OWN_MESSAGE: ("info", "the bot wrote this message itself"),
    Reason.BOT_AUTHOR: ("info", "another bot wrote this message"),
    Reason.WEBHOOK_AUTHOR: ("info", "a webhook wrote this message"),
    Reason.REQUIREMENT_UNAVAILABLE: (
        "warning",
        "the request needs a tool that this turn may not use or that does not exist",
    ),
    Reason.REQUEST_UNCLEAR: ("info", "an action was asked for and nothing that the bot can do fits it"),
    Reason.CONTEXT_LIMIT: ("warning", "the prompt does not fit the model's context window"),
    Reason.DEADLINE_PASSED: ("warning", "the turn's time was used up"),
    Reason.CANCELLED: ("info", "the turn was cancelled"),
    Reason.SUPERSEDED: ("info", "newer activity made this turn's work pointless"),
    Reason.ATTEMPTS_EXHAUSTED: ("error", "the only candidate failed as often as it may"),
    Reason.CANDIDATES_EXHAUSTED: ("error", "every candidate failed or had to be skipped"),
    Reason.SIDE_EFFECTS: ("warning", "something that cannot be taken back had happened, so nothing else was tried"),
    Reason.SAFETY_BLOCK: ("warning", "the provider blocked the request or the answer for safety"),
    Reason.REFUSED_BY_MODEL: ("warning", "the model refused to answer"),
    Reason.HTTP_429: ("warning", "the provider answered 429: too many requests or no quota"),
    Reason.HTTP_4XX: ("error", "the provider rejected the request with a 4xx status"),
    Reason.HTTP_5XX: ("warning", "the provider answered with a 5xx status"),
    Reason.RATE_LIMITED: ("warning", "the surface limits how often the bot may speak"),
    Reason.CONNECTION_FAILED: ("warning", "no connection to the other side, or it was lost"),
    Reason.TIMED_OUT: ("warning", "no answer within the time limit of the call"),
    Reason.NO_CHOICES: ("warning", "the provider's answer holds no choices"),
    Reason.MALFORMED_RESPONSE: ("warning", "the provider's answer is not what its API promises"),
    Reason.EMPTY_ANSWER: ("warning", "the model returned no text where one was due"),
    Reason.TRUNCATED: ("warning", "the model's answer was cut off"),
    Reason.ENVELOPE_INVALID: ("warning", "the model's answer does not match the envelope schema"),
    Reason.COMPOUND_INCOMPLETE: ("warning", "the answer left out a part of a request for several things"),
    Reason.UNKNOWN_PROVIDER: ("error", "the candidate names an api that does not exist"),
    Reason.UNCONFIGURED_PROVIDER: ("error", "the provider has no key"),
    Reason.MISSING_CAPABILITY: ("warning", "the candidate lacks a capability that this task requires"),
    Reason.NO_MODEL: ("error", "the provider has no model configured for this task"),
    Reason.CIRCUIT_OPEN: ("warning", "the provider failed repeatedly and is left alone for a while"),
    Reason.ROUNDS_EXHAUSTED: ("warning", "the model asked for tools as often as it may and gave no answer"),
    Reason.IDENTICAL_CALLS: ("warning", "the model repeated one identical tool call too often"),
    Reason.TOOL_FAILED: ("warning", "the tool raised an error"),
    Reason.TOOL_TIMED_OUT: ("warning", "the tool did not end within its time limit"),
    Reason.TOOL_DENIED: ("warning", "the tool call was refused"),
    Reason.NOT_IN_CONTRACT: ("warning", "the tool is not part of this turn's contract"),
    Reason.POLICY_DENIED: ("warning", "policy does not allow this tool now"),
    Reason.OWNER_ONLY: ("warning", "only an owner of the bot may use this tool"),
    Reason.APPROVAL_NEEDED: ("info", "this call needs an approval that it does not have"),
    Reason.ARGUMENTS_INVALID: ("warning", "the arguments do not match the tool's schema"),
    Reason.DELIVERY_FORBIDDEN: ("error", "the bot may not write to the target"),
    Reason.DELIVERY_TARGET_GONE: ("warning", "the target does not exist any more"),
    Reason.DELIVERY_REJECTED: ("error", "the surface rejected the message"),
    Reason.DELIVERY_FAILED: ("error", "the message was definitely not delivered"),
    Reason.DELIVERY_IN_DOUBT: ("error", "it is not known whether the message arrived"),
    Reason.LEASE_LOST: ("warning", "another process took the turn over"),
    Reason.PROCESS_GONE: ("error", "the process died in the middle of the turn"),
    Reason.CLAIMS_EXHAUSTED: ("error", "the turn was started as often as it may be"),
    Reason.LOG_WRITE_FAILED: ("error", "the log could not be written, so the turn had to stop"),
    Reason.PHASE_RESULT_INVALID: (
        "error",
        "a phase returned something that it had not declared or that cannot be stored",
    ),
    Reason.INTERNAL_ERROR: ("error", "a bug: an exception that nothing expected"),
    Reason.WITNESS_UNMET: ("error", "an urgent message was found and the model proposed nothing for it"),
    Reason.OPERATION_REFUSED: ("warning", "a proposed operation was refused"),
    Reason.LOCK_HELD: ("info", "another runner holds the lock"),
}
