"""Writes a model request as the body of a chat/completions call.

Owns how prompt, history, rounds and tools look on this wire. Knows no client, no key and no answer.
Invariants: equal requests are equal bytes; a tool call and its result go out together or not at all (ENV-11).
"""

from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.documents import json_of
from phasewalk.machine.exchange import HistoryEntry, ToolCall
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
    wire_name,
)

Message = dict[str, object]


def request_body(request: ModelRequest) -> dict[str, object]:
    """The body in the order in which the client library sends it.

    The schema of the envelope goes along wherever an envelope is due (ENV-19), `reasoning_effort` only together
    with tools (ENV-21).
    """
    body: dict[str, object] = {"model": request.model, "messages": _messages(request)}
    if request.tools:
        body["reasoning_effort"] = request.candidate.reasoning_effort
    if request.prompt.structured:
        body["response_format"] = {"type": "json_schema", "json_schema": schema()}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def body_text(request: ModelRequest) -> str:
    """The body as the JSON text that goes out."""
    return json_of(request_body(request))


def _messages(request: ModelRequest) -> list[Message]:
    prompt, ids = request.prompt, WireIds()
    messages: list[Message] = [{"role": "system", "content": system_text(prompt)}]
    for part in conversation(prompt.history):
        messages.extend([_said(part)] if isinstance(part, HistoryEntry) else _round(part, ids))
    messages.append({"role": "user", "content": _person(request)})
    for exchange in request.exchanges:
        messages.extend(_round(pairs_of(exchange), ids, exchange.said))
    if request.reminder:
        messages.append({"role": "system", "content": request.reminder})
    return messages


def _said(entry: HistoryEntry) -> Message:
    if entry.role == "assistant":
        return {"role": "assistant", "content": entry.text}
    return {"role": "user", "content": said_text(entry)}


def _person(request: ModelRequest) -> object:
    """The person's message: plain text, or parts where images go along."""
    images = images_of(request)
    if not images:
        return request.prompt.user
    shown = [{"type": "image_url", "image_url": {"url": address}} for address in images]
    return [{"type": "text", "text": request.prompt.user}, *shown]


def _round(pairs: list[Pair], ids: WireIds, said: str = "") -> list[Message]:
    """One assistant message with the calls, and a tool message for each of them."""
    if not pairs:
        return [{"role": "assistant", "content": said}] if said else []
    numbered = [(ids.take(call), call, text) for call, text in pairs]
    calls = [_call(wire_id, call) for wire_id, call, _ in numbered]
    results: list[Message] = [
        {"role": "tool", "tool_call_id": wire_id, "content": text} for wire_id, _, text in numbered
    ]
    return [{"role": "assistant", "content": said or None, "tool_calls": calls}, *results]


def _call(wire_id: str, call: ToolCall) -> Message:
    function = {"name": wire_name(call.name), "arguments": call.arguments}
    return {"id": wire_id, "type": "function", "function": function}


def _tool(tool: ToolSchema) -> dict[str, object]:
    parameters = tool.parsed_parameters()
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": is_closed(parameters),
    }
    return {"type": "function", "function": function}
