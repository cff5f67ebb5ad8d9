"""Writes a model request as the body of a call to the Responses API (ENV-22, ENV-23).

Owns how prompt, history, rounds and tools look on this wire. Knows no client, no key and no answer.
Invariants: equal requests are equal bytes; nothing is stored at the provider, so every body is whole; what
outsiders wrote stands in user items alone (ENV-28).
"""

from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.documents import json_of
from phasewalk.machine.exchange import Exchange, HistoryEntry
from phasewalk.machine.provider import ModelRequest
from phasewalk.phases.envelope import schema
from phasewalk.phases.providers.openai_parts import (
    Pair,
    WireIds,
    conversation,
    images_of,
    is_closed,
    pairs_of,
    said_text,
    system_text,
)
from phasewalk.phases.providers.openai_responses_items import Item, call_item, result_item, returned


def request_body(request: ModelRequest) -> dict[str, object]:
    """The body in the order in which the client library sends it.

    `instructions` are what the system message is on the other wire: the API puts them before all input, so that the
    persona begins the cached prefix (ENV-20). Tools and reasoning go together.
    """
    body: dict[str, object] = {
        "model": request.model,
        "include": ["reasoning.encrypted_content"],
        "input": _input(request),
        "instructions": system_text(request.prompt),
        "reasoning": {"effort": request.candidate.reasoning_effort},
        "store": False,
    }
    if request.prompt.structured:
        body["text"] = {"format": {"type": "json_schema", **schema()}}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def body_text(request: ModelRequest) -> str:
    """The body as the JSON text that goes out."""
    return json_of(request_body(request))


def _input(request: ModelRequest) -> list[Item]:
    prompt, ids = request.prompt, WireIds()
    items: list[Item] = []
    for part in conversation(prompt.history):
        items.extend([_said(part)] if isinstance(part, HistoryEntry) else _past_round(part, ids))
    items.append(_person(request))
    for exchange in request.exchanges:
        items.extend(_round(exchange, request.source, ids))
    if request.reminder:
        items.append(_message("system", request.reminder))
    return items


def _message(role: str, content: object) -> Item:
    return {"type": "message", "role": role, "content": content}


def _said(entry: HistoryEntry) -> Item:
    if entry.role == "assistant":
        return _message("assistant", entry.text)
    return _message("user", said_text(entry))


def _person(request: ModelRequest) -> Item:
    images = [{"type": "input_image", "image_url": address, "detail": "auto"} for address in images_of(request)]
    return _message("user", [{"type": "input_text", "text": request.prompt.user}, *images])


def _past_round(pairs: list[Pair], ids: WireIds) -> list[Item]:
    """A round of an earlier turn: its calls, then a result for each."""
    numbered = [(ids.take(call), call, text) for call, text in pairs]
    calls = [call_item(call, wire_id) for wire_id, call, _ in numbered]
    return [*calls, *(result_item(wire_id, text) for wire_id, _, text in numbered)]


def _round(exchange: Exchange, source: str, ids: WireIds) -> list[Item]:
    """A round of this turn: what was said, the items of the reply, and a result for each call."""
    said = [_message("assistant", exchange.said)] if exchange.said else []
    pairs = pairs_of(exchange)
    if not pairs:
        return said
    wire_ids = [ids.take(call) for call, _ in pairs]
    results = [result_item(wire_id, text) for wire_id, (_, text) in zip(wire_ids, pairs, strict=True)]
    return [*said, *returned(exchange, wire_ids, source), *results]


def _tool(tool: ToolSchema) -> dict[str, object]:
    parameters = tool.parsed_parameters()
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": is_closed(parameters),
    }
