"""Which texts of a record can hold a secret, and the record without it (LOG-10).

Owns the list of fields by record; a test holds that none is forgotten. Digests stay those of the original text, so
that what refers to a payload still finds it.
"""

from collections.abc import Callable

from attrs import evolve

from phasewalk.machine import records as r
from phasewalk.machine.documents import Payload

Redact = Callable[[str], str]

TEXTS: dict[type, tuple[str, ...]] = {
    r.TurnOpened: ("channel_name", "user_name", "text"),
    r.PhaseEntered: ("detail", "payloads"),
    r.PhaseExited: ("guards", "detail", "payloads"),
    r.ContractFrozen: ("body",),
    r.AttemptStarted: ("provider", "model"),
    r.AttemptEnded: ("finish_reason", "request_id", "message", "response"),
    r.FallbackConsidered: ("provider", "model", "values"),
    r.CircuitNoted: ("provider",),
    r.ToolStarted: ("name", "provider_call_id", "arguments"),
    r.ToolEnded: ("result",),
    r.EffectIntended: ("target", "detail", "payloads"),
    r.EffectSettled: ("detail",),
    r.Said: ("author", "text", "call"),
    r.Summarised: ("text",),
    r.TurnMoved: (),
    r.TurnEnded: (),
    r.HistoryTrimmed: (),
}
"""The fields that hold what people, models, tools or configurations wrote."""


def without_secrets(record: r.Record, redact: Redact) -> r.Record:
    """The record itself where nothing has to go, else a copy."""
    changed = {}
    for name in TEXTS[type(record)]:
        value = getattr(record, name)
        if value:
            clean = _clean(value, redact)
            if clean != value:
                changed[name] = clean
    return evolve(record, **changed) if changed else record  # type: ignore[arg-type]  # names and types are those of TEXTS


def _clean(value: object, redact: Redact) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Payload):
        return Payload(value.digest, redact(value.text))
    return tuple(_clean(part, redact) for part in value) if isinstance(value, tuple) else value
