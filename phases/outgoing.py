"""What goes back to a model of a turn's own rounds: the same, without secrets (LOG-10).

Owns the copy. Tools are called with what the model really wrote; it is only not sent on, to this model or another.
Invariant: sealed reasoning goes back as it came, since a letter less would make it worthless.
"""

import json
from collections.abc import Callable

from attrs import evolve

from phasewalk.machine.documents import json_of
from phasewalk.machine.exchange import Exchange, ToolCall, ToolResult

Redact = Callable[[str], str]
SEALED = "encrypted_content"


def without_secrets(exchanges: tuple[Exchange, ...], redact: Redact) -> tuple[Exchange, ...]:
    """The rounds as they may be sent; those that hold no secret are the same objects."""
    return tuple(_exchange(exchange, redact) for exchange in exchanges)


def _exchange(exchange: Exchange, redact: Redact) -> Exchange:
    clean = Exchange(
        calls=tuple(_call(call, redact) for call in exchange.calls),
        results=tuple(_result(result, redact) for result in exchange.results),
        said=redact(exchange.said),
        items=tuple(_item(item, redact) for item in exchange.items),
        source=exchange.source,
    )
    return exchange if clean == exchange else clean


def _call(call: ToolCall, redact: Redact) -> ToolCall:
    return evolve(call, provider_id=redact(call.provider_id), name=redact(call.name), arguments=redact(call.arguments))


def _result(result: ToolResult, redact: Redact) -> ToolResult:
    return evolve(result, call=_call(result.call, redact), text=redact(result.text))


def _item(text: str, redact: Redact) -> str:
    """An item of a reply, as JSON text."""
    if redact(text) == text:
        return text
    item = json.loads(text)
    open_part = json.loads(redact(json_of({key: value for key, value in item.items() if key != SEALED})))
    return json_of({key: open_part.get(key, value) for key, value in item.items()})
