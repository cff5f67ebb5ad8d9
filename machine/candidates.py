"""Whom a model task may ask, and why a candidate is passed over (FB-10, FB-11)."""

from attrs import frozen

from phasewalk.machine.reasons import Reason


@frozen
class Candidate:
    """A provider with one of its models, as frozen in the contract.

    `known` says that its api exists, `configured` that it has its key. `safety_final` is the provider's own
    declaration that a safety block ends the turn. `window` is in tokens, 0 when not known.
    """

    provider: str
    api: str
    model: str
    retry_model: str | None = None
    capabilities: tuple[str, ...] = ("tools", "vision", "json_schema")
    window: int = 0
    known: bool = True
    configured: bool = True
    safety_final: bool = True
    reasoning_effort: str = "none"
    vision_model: str | None = None
    factual_model: str | None = None
    image_model: str | None = None

    @property
    def name(self) -> str:
        """`provider/model`, as shown to people."""
        return f"{self.provider}/{self.model}"


@frozen
class Skip:
    """A candidate passed over, why, and what was compared."""

    candidate: Candidate
    reason: Reason
    values: dict[str, object]


def skip_of(candidate: Candidate, required: tuple[str, ...], needed_tokens: int = 0) -> Skip | None:
    """Why `candidate` cannot be asked for a task that requires these capabilities, or None when it can."""
    if not candidate.known:
        return Skip(candidate, Reason.UNKNOWN_PROVIDER, {"api": candidate.api})
    if not candidate.configured:
        return Skip(candidate, Reason.UNCONFIGURED_PROVIDER, {"provider": candidate.provider})
    if not candidate.model:
        return Skip(candidate, Reason.NO_MODEL, {"provider": candidate.provider})
    missing = [name for name in required if name not in candidate.capabilities]
    if missing:
        return Skip(candidate, Reason.MISSING_CAPABILITY, {"missing": missing, "has": list(candidate.capabilities)})
    if candidate.window and needed_tokens > candidate.window:
        return Skip(candidate, Reason.CONTEXT_LIMIT, {"needed_tokens": needed_tokens, "window": candidate.window})
    return None


def model_for(candidate: Candidate, *, on_retry_model: bool, images: bool, factual: bool) -> str:
    """The candidate's model after a rate limit, for images, for facts, else its own (ENV-15, ENV-22)."""
    if on_retry_model and candidate.retry_model:
        return candidate.retry_model
    if images and candidate.vision_model:
        return candidate.vision_model
    if factual and candidate.factual_model:
        return candidate.factual_model
    return candidate.model
