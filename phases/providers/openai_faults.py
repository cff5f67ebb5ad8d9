"""Names what went wrong with a call of any of OpenAI's APIs, as typed failures (FB-13, FB-16).

Owns the judgement of statuses, error bodies, error codes and Retry-After. Knows no client library: it judges what
came over the wire. Invariant: every message names provider and model, holds no key, and is cut to 200 characters.
"""

import json
import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime

from attrs import frozen

from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.provider import ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.text import told

_KEY_SHORTEST = 8
"""Shorter keys are placeholders such as `none`, which local servers take; they are words, not secrets."""

_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"})
_CONTEXT_WORDS = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context window|context size|\bn_ctx\b",
    re.IGNORECASE,
)
_SAFETY_CODES = frozenset({
    "content_filter", "content_policy_violation", "image_content_policy_violation", "moderation_blocked",
    "responsibleaipolicyviolation", "bio_policy", "cyber_policy", "misalignment_policy_violation",
})  # fmt: skip
_FLAGGED = re.compile(r"usage polic|content polic|safety", re.IGNORECASE)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_STATUS_OF = {
    **dict.fromkeys(("rate_limit_exceeded", "rate_limit_error", *_QUOTA_CODES), 429),
    **dict.fromkeys(("server_error", "internal_error", "vector_store_timeout", "service_unavailable"), 500),
    **dict.fromkeys(
        (
            "invalid_request_error", "invalid_prompt", "data_residency_mismatch", "invalid_image",
            "invalid_image_format", "invalid_base64_image", "invalid_image_url", "invalid_image_mode",
            "image_too_large", "image_too_small", "image_parse_error", "image_file_too_large",
            "unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found",
        ),
        400,
    ),
}  # fmt: skip
"""The status that stands for a code, where an error comes without one: in a failed response, or with status 200."""

LONGEST_WAIT = 31_536_000.0
"""Seconds, a year: whoever asks for more has miscounted."""

_NUMBER = re.compile(r"\d+(?:\.\d*)?|\.\d+")
_NESTED = ("error", "innererror", "inner_error", "cause", "detail")


@frozen
class Answered:
    """What came over the wire: status, headers by lower-case name, and the whole body as text."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def request_id(self) -> str | None:
        """The provider's own name for the call, where it gives one."""
        return self.headers.get("x-request-id")


@frozen
class Asked:
    """Who was asked, for messages; `secret` never stands in one."""

    provider: str
    model: str
    secret: str

    def clean(self, text: str) -> str:
        """`text` without the key."""
        return text.replace(self.secret, "[redacted]") if len(self.secret) >= _KEY_SHORTEST else text

    def fault(
        self,
        kind: FailureKind,
        reason: Reason,
        what: str,
        answered: Answered | None = None,
        *,
        finish_reason: str | None = None,
        retry_after: float | None = None,
    ) -> ProviderError:
        """The failure, with everything known of the answer."""
        return ProviderError(
            kind,
            reason,
            told(f"{self.provider}/{self.model}: {self.clean(what)}"),
            http_status=answered.status if answered else None,
            retry_after=retry_after,
            finish_reason=finish_reason,
            request_id=answered.request_id if answered else None,
            response=self.clean(answered.text) if answered else None,
        )


@frozen
class Problem:
    """What an error body says: its codes and types in lower case, and its messages, outermost first.

    `shown` is the first code as it was written; `status` the one that it names or that its codes stand for, 0 when it
    tells none.
    """

    codes: tuple[str, ...]
    messages: tuple[str, ...]
    parameter: str
    status: int = 0
    shown: str = ""

    @property
    def is_context(self) -> bool:
        """Whether the prompt was too long, said anywhere in the chain of causes (ENV-30)."""
        return not _CONTEXT_CODES.isdisjoint(self.codes) or any(map(_CONTEXT_WORDS.search, self.messages))

    @property
    def is_safety(self) -> bool:
        """Whether a content policy blocked the request (ENV-29).

        A prompt may be called invalid for that reason or for another one; only the message tells.
        """
        flagged = "invalid_prompt" in self.codes and any(map(_FLAGGED.search, self.messages))
        return flagged or not _SAFETY_CODES.isdisjoint(self.codes)

    @property
    def is_quota(self) -> bool:
        """Whether there is nothing left to spend; waiting does not help."""
        return not _QUOTA_CODES.isdisjoint(self.codes)

    def __str__(self) -> str:
        parts = list(self.messages[:1] or ["no message"])
        parts.extend([f"code {self.shown}"] if self.shown else [])
        parts.extend([f"parameter {self.parameter}"] if self.parameter else [])
        return ", ".join(parts)


def problem_of(body: object) -> Problem:
    """What `body` says is wrong; nothing when it is no error body."""
    levels = list(_levels(body))
    objects = [level for level in levels if isinstance(level, dict)]
    written = [level[key] for level in objects for key in ("code", "type") if isinstance(level.get(key), str)]
    said = [level.get("message") if isinstance(level, dict) else level for level in levels]
    parameters = [level["param"] for level in objects if isinstance(level.get("param"), str)]
    codes = [code.lower() for code in written]
    numbers = [level[key] for level in objects for key in ("code", "status") if type(level.get(key)) is int]
    statuses = [number for number in numbers if _CLIENT_BEGINS <= number < _NO_STATUS]
    statuses += [_STATUS_OF[code] for code in codes if code in _STATUS_OF]
    return Problem(
        tuple(codes),
        tuple(text for text in said if isinstance(text, str)),
        parameters[0] if parameters else "",
        statuses[0] if statuses else 0,
        written[0] if written else "",
    )


def _levels(body: object) -> Iterator[object]:
    yield body
    if isinstance(body, dict):
        for key in _NESTED:
            if body.get(key):
                yield from _levels(body[key])


def status_fault(asked: Asked, answered: Answered, now: float) -> ProviderError:
    """The failure that an answer with an error status is; `now` in seconds since the epoch, for dates."""
    status = answered.status
    try:
        problem = problem_of(json.loads(answered.text))
    except (ValueError, RecursionError):
        problem = problem_of(None)
    kind, reason = judged(status, problem)
    delay = delay_of(status, answered.headers, now)
    return asked.fault(kind, reason, f"status {status}: {problem}", answered, retry_after=delay)


_TOO_MANY = 429
_CLIENT_BEGINS = 400
_SERVER_BEGINS = 500
_NO_STATUS = 600
_MAY_PASS = frozenset({408, 409})


def judged(status: int, problem: Problem) -> tuple[FailureKind, Reason]:
    """The row of FB-13; `status` 0 where none is known. A 429 about tokens speaks of rates, however it is worded."""
    if status == _TOO_MANY:
        return FailureKind.PERMANENT if problem.is_quota else FailureKind.RATE_LIMITED, Reason.HTTP_429
    if problem.is_context:
        return FailureKind.CONTEXT_LIMIT, Reason.CONTEXT_LIMIT
    if problem.is_safety:
        return FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK
    return _by_status(status)


def _by_status(status: int) -> tuple[FailureKind, Reason]:
    if status >= _SERVER_BEGINS:
        return FailureKind.TRANSIENT, Reason.HTTP_5XX
    if status in _MAY_PASS:
        return FailureKind.TRANSIENT, Reason.HTTP_4XX
    if status >= _CLIENT_BEGINS:
        return FailureKind.PERMANENT, Reason.HTTP_4XX
    return FailureKind.UNUSABLE, Reason.MALFORMED_RESPONSE


def delay_of(status: int, headers: Mapping[str, str], now: float) -> float | None:
    """What `retry_after` says, where waiting helps."""
    return retry_after(headers, now) if status == _TOO_MANY or status >= _SERVER_BEGINS else None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds that the provider asks to wait (ENV-12): `retry-after-ms`, else seconds or a date.

    None when it asks for nothing, for nonsense, or for a time that is past.
    """
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return min(float(milliseconds) / 1000, LONGEST_WAIT)
    value = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(value):
        return min(float(value), LONGEST_WAIT)
    try:
        seconds = parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return min(seconds, LONGEST_WAIT) if seconds >= 0 else None
