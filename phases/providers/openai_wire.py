"""Writes a model request as the body of a chat/completions call.

Owns how prompt, history, rounds and tools look on this wire. Knows no client, no key and no answer.
Invariants: equal requests are equal bytes; a tool call and its result go out together or not at all (ENV-11);
no two calls of one body share an id.
"""

import re
from itertools import groupby

from attrs import define, field

from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.documents import json_of
from phasewalk.machine.ports import ModelRequest
from phasewalk.machine.turn import HistoryEntry, Prompt, ToolCall
from phasewalk.phases.envelope import schema

Message = dict[str, object]

_ID_LONGEST = 40
"""A longer call id is rejected by the API, though other servers hand them out."""

_NAME_LONGEST = 64
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def request_body(request: ModelRequest) -> dict[str, object]:
    """The body in the order in which the client library sends it.

    The schema of the envelope always goes along (ENV-19), `reasoning_effort` only together with tools (ENV-21).
    """
    body: dict[str, object] = {"model": request.model, "messages": _messages(request)}
    if request.tools:
        body["reasoning_effort"] = request.candidate.reasoning_effort
    body["response_format"] = {"type": "json_schema", "json_schema": schema()}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def body_text(request: ModelRequest) -> str:
    """The body as the JSON text that goes out."""
    return json_of(request_body(request))


def _messages(request: ModelRequest) -> list[Message]:
    prompt, pairs = request.prompt, _Pairs()
    messages = [_system(prompt)]
    for unit, group in groupby(prompt.history, _unit):
        entries = list(group)
        if unit is None:
            messages.extend(map(_said, entries))
        else:
            messages.extend(pairs.messages([(entry.call, entry.text) for entry in entries if entry.call is not None]))
    messages.append({"role": "user", "content": prompt.user})
    for exchange in request.exchanges:
        messages.extend(pairs.messages([(r.call, r.text) for r in exchange.results], exchange.said))
    return messages


def _system(prompt: Prompt) -> Message:
    """The unchanging persona first, so that the provider's cache of prefixes hits (ENV-20)."""
    return {"role": "system", "content": f"{prompt.persona}\n\n## Context\n{prompt.context}"}


def _said(entry: HistoryEntry) -> Message:
    if entry.role == "assistant":
        return {"role": "assistant", "content": entry.text}
    return {"role": "user", "content": json_of({"author": entry.author, "text": entry.text})}


def _unit(entry: HistoryEntry) -> str | None:
    """What a tool entry belongs to: the calls of one unit were one round; None for what somebody said."""
    return (entry.unit or f"entry {entry.entry_id}") if entry.role == "tool" else None


@define
class _Pairs:
    """Writes calls with their results, and sees to it that each id stands for one call."""

    used: set[str] = field(factory=set)

    def messages(self, pairs: list[tuple[ToolCall, str]], said: str = "") -> list[Message]:
        """One assistant message with the calls, and a tool message for each of them."""
        if not pairs:
            return [{"role": "assistant", "content": said}] if said else []
        ids = [self._wire_id(call) for call, _ in pairs]
        calls = [_call(wire_id, call) for wire_id, (call, _) in zip(ids, pairs, strict=True)]
        results: list[Message] = [
            {"role": "tool", "tool_call_id": wire_id, "content": text}
            for wire_id, (_, text) in zip(ids, pairs, strict=True)
        ]
        return [{"role": "assistant", "content": said or None, "tool_calls": calls}, *results]

    def _wire_id(self, call: ToolCall) -> str:
        """The provider's id where it can be used (CON-21), else one of ours; the same for the same request."""
        wire_id, number = call.provider_id, len(self.used)
        while not wire_id.strip() or len(wire_id) > _ID_LONGEST or wire_id in self.used:
            number += 1
            wire_id = f"call_{number}"
        self.used.add(wire_id)
        return wire_id


def _call(wire_id: str, call: ToolCall) -> Message:
    # A model may invent a name that the API rejects in its own conversation; the result says that it is no tool.
    name = _NOT_IN_NAMES.sub("_", call.name)[:_NAME_LONGEST] or "unnamed"
    return {"id": wire_id, "type": "function", "function": {"name": name, "arguments": call.arguments}}


def _tool(tool: ToolSchema) -> dict[str, object]:
    parameters = tool.parsed_parameters()
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": _is_closed(parameters),
    }
    return {"type": "function", "function": function}


def _is_closed(schema: object) -> bool:
    """Whether strict mode takes this schema: every object names all its keys, requires them, allows no other."""
    if isinstance(schema, list):
        return all(map(_is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if "object" in _types(schema):
        named = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != named:
            return False
    return all(_is_closed(list(part.values()) if key in _MAPS else part) for key, part in schema.items())


_MAPS = frozenset({"properties", "$defs"})
"""Keywords whose value maps names to schemas: the names are no keywords."""


def _types(schema: dict[str, object]) -> list[object]:
    types = schema.get("type")
    return types if isinstance(types, list) else [types]
