"""What a failed model attempt allows next: the one decision behind retry and fallback (FB-04, FB-13).

Owns the rows of FB-13 as data and one pure function over them. Knows no provider, no phase, no log.
Invariant: after side effects no rule asks another candidate, and no rule ever runs a tool again.
"""

from enum import StrEnum

from attrs import evolve, fields_dict, frozen

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.effects import Effect, has_side_effects
from phasewalk.machine.limits import Limits
from phasewalk.machine.reasons import Reason
from phasewalk.machine.words import Cause


class FailureKind(StrEnum):
    """The rows of FB-13: what sort of failure it was, whatever its exact reason."""

    UNUSABLE = "unusable_output"
    INCOMPLETE = "incomplete_answer"
    RATE_LIMITED = "rate_limited"
    TRANSIENT = "transient"
    PERMANENT = "permanent"
    CONTEXT_LIMIT = "context_limit"
    SAFETY_BLOCK = "safety_block"
    BUG = "bug"


@frozen
class Failure:
    """Why one attempt failed. `retry_after` in seconds as the provider asked; `jitter` in 0..1, drawn once."""

    kind: FailureKind
    reason: Reason
    message: str
    phase: str
    provider: str = ""
    model: str = ""
    http_status: int | None = None
    retry_after: float | None = None
    safety_final: bool = True
    jitter: float = 0.0


class Retry(StrEnum):
    """How the same candidate may be asked again."""

    NO = "no"
    ATTEMPTS = "attempts"
    DELAYS = "delays"
    SMALLER = "smaller"


@frozen
class Rule:
    """One cell of FB-13. `falls_back` None means: as the provider declares for safety blocks."""

    name: str
    retry: Retry
    falls_back: bool | None
    withholds_tools: bool = False


_K = FailureKind
RULES: dict[tuple[FailureKind, bool], Rule] = {
    (_K.UNUSABLE, False): Rule("unusable output: retry, then fall back", Retry.ATTEMPTS, True),
    (_K.UNUSABLE, True): Rule("unusable output after effects: same call, tools withheld", Retry.ATTEMPTS, False, True),
    (_K.INCOMPLETE, False): Rule("incomplete answer: the same candidate once more", Retry.ATTEMPTS, False),
    (_K.INCOMPLETE, True): Rule("incomplete answer after effects: the same candidate once more", Retry.ATTEMPTS, False),
    (_K.RATE_LIMITED, False): Rule("rate limit: wait, then fall back", Retry.ATTEMPTS, True),
    (_K.RATE_LIMITED, True): Rule("rate limit after effects: same call after fixed delays", Retry.DELAYS, False),
    (_K.TRANSIENT, False): Rule("transient failure: retry, then fall back", Retry.ATTEMPTS, True),
    (_K.TRANSIENT, True): Rule("transient failure after effects: same call after fixed delays", Retry.DELAYS, False),
    (_K.PERMANENT, False): Rule("permanent failure: fall back at once", Retry.NO, True),
    (_K.PERMANENT, True): Rule("permanent failure after effects: stop", Retry.NO, False),
    (_K.CONTEXT_LIMIT, False): Rule("context limit: one smaller retry, then stop", Retry.SMALLER, False),
    (_K.CONTEXT_LIMIT, True): Rule("context limit after effects: stop", Retry.NO, False),
    (_K.SAFETY_BLOCK, False): Rule("safety block: as the provider declares", Retry.NO, None),
    (_K.SAFETY_BLOCK, True): Rule("safety block after effects: stop", Retry.NO, False),
    (_K.BUG, False): Rule("bug: stop", Retry.NO, False),
    (_K.BUG, True): Rule("bug after effects: stop", Retry.NO, False),
}


OVERFLOWED = Rule("context limit: the smaller retry was the last", Retry.NO, False)
"""What any failure of the one smaller retry allows."""


@frozen
class Progress:
    """How far the model calls of a turn have come.

    `failures` counts unusable replies of the present call in a row, `delays_used` the post-effect delays
    spent; a usable reply resets both. `calls` and `rounds` count over the whole turn. `delay` is what the
    next visit waits first, seconds. `considered` is the number of `fallback_step` rows so far,
    `tool_calls` of the calls that models asked for. `probing` says that
    this turn tries a provider whose circuit was open: it may be asked once (FB-15). `last_try` is the one smaller
    retry after a context overflow, behind which nobody is asked (ENV-30).
    """

    candidate: int = 0
    on_retry_model: bool = False
    failures: int = 0
    delays_used: int = 0
    delay: float = 0.0
    calls: int = 0
    rounds: int = 0
    shrunk: bool = False
    last_try: bool = False
    tools_withheld: bool = False
    considered: int = 0
    tool_calls: int = 0
    probing: bool = False

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold: the numbers that are not zero."""
        return {name: getattr(self, name) for name in fields_dict(Progress) if getattr(self, name)}


@frozen
class Allowance:
    """What the failure allows, with every number that was compared."""

    rule: Rule
    after_effects: bool
    retry_allowed: bool
    attempts_left: int
    delay: float
    delay_fits: bool
    falls_back: bool
    next_candidate: Candidate | None
    time_left: float
    to_retry_model: bool

    @property
    def values(self) -> dict[str, object]:
        """The values for the log."""
        return {
            "after_effects": self.after_effects,
            "attempts_left": self.attempts_left,
            "delay": round(self.delay, 3),
            "time_left": round(self.time_left, 3),
            "next": self.next_candidate.name if self.next_candidate else None,
        }


def allowance(
    failure: Failure,
    effects: tuple[Effect, ...],
    candidates: tuple[Candidate, ...],
    *,
    progress: Progress,
    limits: Limits,
    time_left: float,
) -> Allowance:
    """What may follow `failure`; pure, and the only place that decides it.

    `progress.failures` and `progress.delays_used` count up to and with this failure's predecessors, that is,
    without it. `time_left` is in seconds until the turn's deadline.
    """
    after = has_side_effects(effects)
    rule = OVERFLOWED if progress.last_try else RULES[failure.kind, after]
    current = candidates[progress.candidate] if progress.candidate < len(candidates) else None
    to_retry_model = (
        failure.kind is FailureKind.RATE_LIMITED
        and not after
        and not progress.on_retry_model
        and current is not None
        and bool(current.retry_model)
    )
    left = _attempts_left(rule, progress, limits)
    delay = _delay(rule, failure, progress, limits, to_retry_model=to_retry_model)
    following = progress.candidate + 1
    falls_back = (not failure.safety_final) if rule.falls_back is None else rule.falls_back
    return Allowance(
        rule=rule,
        after_effects=after,
        retry_allowed=rule.retry in (Retry.ATTEMPTS, Retry.DELAYS),
        attempts_left=left,
        delay=delay,
        delay_fits=delay < time_left,
        falls_back=falls_back,
        next_candidate=candidates[following] if following < len(candidates) and not progress.last_try else None,
        time_left=time_left,
        to_retry_model=to_retry_model,
    )


def _attempts_left(rule: Rule, progress: Progress, limits: Limits) -> int:
    if progress.probing or progress.last_try:
        return 0
    if rule.retry is Retry.DELAYS:
        return max(len(limits.post_effect_delays) - progress.delays_used, 0)
    return max(limits.attempts - progress.failures - 1, 0)


def _delay(rule: Rule, failure: Failure, progress: Progress, limits: Limits, *, to_retry_model: bool) -> float:
    if rule.retry is Retry.DELAYS:
        spent = min(progress.delays_used, len(limits.post_effect_delays) - 1)
        return limits.post_effect_delays[spent] if limits.post_effect_delays else 0.0
    if failure.kind is FailureKind.INCOMPLETE:
        return 0.0  # nothing is wrong with the provider
    backoff = min(limits.backoff * 2.0**progress.failures, limits.backoff_cap) * (1.0 - 0.25 * failure.jitter)
    if to_retry_model or failure.retry_after is None:
        return backoff
    return failure.retry_after


def advanced(
    cause: Cause | None,
    progress: Progress,
    *,
    failure: Failure | None,
    effects: tuple[Effect, ...],
    candidates: tuple[Candidate, ...],
    limits: Limits,
) -> Progress:
    """The progress with which the next model call begins, given why it is made; pure."""
    if cause is Cause.FALLBACK:
        return evolve(
            progress,
            candidate=progress.candidate + 1,
            on_retry_model=False,
            failures=0,
            delays_used=0,
            delay=0.0,
            tools_withheld=False,
            probing=False,
        )
    if cause is Cause.RETRY and failure is not None:
        allowed = allowance(failure, effects, candidates, progress=progress, limits=limits, time_left=0.0)
        by_delays = allowed.rule.retry is Retry.DELAYS
        return evolve(
            progress,
            on_retry_model=progress.on_retry_model or allowed.to_retry_model,
            failures=progress.failures + (0 if by_delays else 1),
            delays_used=progress.delays_used + (1 if by_delays else 0),
            delay=allowed.delay,
            tools_withheld=progress.tools_withheld or allowed.rule.withholds_tools,
        )
    if cause is Cause.SHRUNK:
        return evolve(progress, shrunk=True, last_try=True, delay=0.0)
    return evolve(progress, failures=0, delays_used=0, delay=0.0, probing=False, last_try=False)
