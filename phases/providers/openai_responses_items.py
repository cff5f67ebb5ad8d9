"""The items of a Responses answer that go back with the results of its calls (ENV-23).

Owns which items and which of their fields are input: an allow-list, since the API rejects its own output fields.
Knows no request and no client. Invariant: nothing goes back that the API could only look up, for nothing is stored
there; an item that no longer fits its calls goes back not at all.
"""

import json
from collections.abc import Iterable, Mapping

from phasewalk.machine.documents import json_of
from phasewalk.machine.exchange import Exchange, ToolCall
from phasewalk.phases.providers.openai_parts import wire_name

Item = dict[str, object]

_REASONING = ("type", "id", "summary", "content", "encrypted_content")
_CALL = ("type", "id", "call_id", "name", "arguments")


def kept(output: Iterable[object]) -> tuple[str, ...]:
    """The reasoning and function_call items of an answer, reduced to input fields, in order, as JSON texts.

    Reasoning that carries nothing, neither sealed nor open, is only a name for something that was not stored, and
    is left out; the calls then go without their own names, which the API would miss that reasoning for.
    """
    items = [item for item in output if isinstance(item, Mapping)]
    whole = all(map(_carries, items))
    reduced = (_reduced(item, with_id=whole) for item in items if _carries(item))
    return tuple(json_of(item) for item in reduced if item)


def _carries(item: Mapping[str, object]) -> bool:
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content") or item.get("content"))


def _reduced(item: Mapping[str, object], *, with_id: bool) -> Item:
    """The input fields that have a value; nothing of an item that is neither reasoning nor a call (ENV-33)."""
    match item.get("type"):
        case "reasoning":
            found = {name: item[name] for name in _REASONING if item.get(name) is not None}
            return {**found, "summary": item.get("summary") or []}
        case "function_call":
            names = _CALL if with_id else [name for name in _CALL if name != "id"]
            return {name: item[name] for name in names if item.get(name) is not None}
        case _:
            return {}


def returned(exchange: Exchange, wire_ids: list[str], source: str) -> list[Item]:
    """The items of a round for `source`, whose calls carry these ids.

    Rebuilt from the calls where another model made them (FB-12) or where they do not fit the calls.
    """
    calls = [result.call for result in exchange.results]
    own = [json.loads(text) for text in exchange.items] if exchange.source == source else []
    asked_for = [item.get("call_id", "") for item in own if item["type"] == "function_call"]
    if not own or asked_for != [call.provider_id for call in calls]:
        return [call_item(call, wire_id) for call, wire_id in zip(calls, wire_ids, strict=True)]
    numbered = iter(zip(calls, wire_ids, strict=True))
    return [item if item["type"] == "reasoning" else {**item, **call_item(*next(numbered))} for item in own]


def call_item(call: ToolCall, wire_id: str) -> Item:
    """A call as input."""
    return {"type": "function_call", "call_id": wire_id, "name": wire_name(call.name), "arguments": call.arguments}


def result_item(wire_id: str, text: str) -> Item:
    """The result of the call with this id."""
    return {"type": "function_call_output", "call_id": wire_id, "output": text}
