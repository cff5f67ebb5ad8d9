"""A turn as a trace of OpenTelemetry: one span for the turn, one for each visit, model call and tool call.

Owns the mapping to OTLP in its JSON form, one `ExportTraceServiceRequest` a turn, names by the semantic conventions
for generative AI. Pure: from the object of a turn to a document. What was said is left out unless it is asked for.
Invariant: the same turn gives the same ids, so that a trace that is sent twice is one trace.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

Item = dict[str, Any]
Document = dict[str, object]

INTERNAL, CLIENT = 1, 3
UNSET, ERROR = 0, 2
ROOT = "turn"
GOOD = ("answered", "silent", "short_path", "completed", "nothing_to_do", None)
OPERATIONS = {"chat": "chat", "responses": "chat", "rules": "chat"}


def request_of(item: Item, *, content: bool = False) -> Document:
    """The turn as `resourceSpans`; `item` is what `show --json` prints, with texts where `content` is asked for."""
    process = item["process"]
    resource = {
        "service.name": "phasewalk",
        "service.version": process["version"],
        "host.name": process["host"],
        "process.pid": process["pid"],
    }
    spans = [span.document(item["turn_id"]) for span in _spans(item, content=content)]
    scope = {"scope": {"name": "phasewalk", "version": process["version"]}, "spans": spans}
    return {"resourceSpans": [{"resource": {"attributes": _attributes(resource)}, "scopeSpans": [scope]}]}


class Span(NamedTuple):
    """One span; `name` names it within its turn, `failed` is the reason when it did."""

    name: str
    title: str
    parent: str
    start_us: int
    end_us: int
    values: Item
    failed: str | None = None
    kind: int = INTERNAL

    def document(self, turn_id: str) -> Document:
        """As OTLP writes it."""
        values = self.values if self.failed is None else {**self.values, "error.type": self.failed}
        return {
            "traceId": hashlib.blake2b(turn_id.encode(), digest_size=16).hexdigest(),
            "spanId": _id(turn_id, self.name),
            **({"parentSpanId": _id(turn_id, self.parent)} if self.parent else {}),
            "name": self.title,
            "kind": self.kind,
            "startTimeUnixNano": str(self.start_us * 1000),
            "endTimeUnixNano": str(max(self.end_us, self.start_us) * 1000),
            "attributes": _attributes(values),
            "status": {"code": UNSET} if self.failed is None else {"code": ERROR, "message": self.failed},
        }


def _spans(item: Item, *, content: bool) -> Iterator[Span]:
    failed = None if item["outcome"] in GOOD else item["reason"]
    yield Span(ROOT, item["machine"], "", item["started_us"], _end(item), _turn(item, content=content), failed)
    for visit in item["visits"]:
        name = f"{visit['phase']} {visit['visit']}"
        yield Span(name, visit["phase"], ROOT, *_times(item, visit), _visit(visit), visit["reason"])
    for attempt in item["attempts"]:
        name = f"attempt {attempt['n']}"
        title = f"{OPERATIONS.get(attempt['api'], attempt['api'])} {attempt['model']}"
        parent, times = _visit_at(item, "model_attempt", attempt), _lasted(attempt)
        failed = attempt["reason"] if attempt["status"] == "failed" else None
        yield Span(name, title, parent, *times, _attempt(attempt), failed, CLIENT)
    for call in item["tools"]:
        parent, times = _visit_at(item, "tool_rounds", call), _lasted(call)
        failed = None if call["status"] in ("ok", None) else call["reason"]
        values = _call(item, call, content=content)
        yield Span(f"call {call['call_id']}", f"execute_tool {call['name']}", parent, *times, values, failed)


def _id(turn: str, name: str) -> str:
    return hashlib.blake2b(f"{turn} {name}".encode(), digest_size=8).hexdigest()


def _us(ms: float | None) -> int:
    return round((ms or 0.0) * 1000)


def _lasted(row: Item) -> tuple[int, int]:
    return row["started_us"], row["started_us"] + _us(row["took_ms"])


def _times(item: Item, visit: Item) -> tuple[int, int]:
    """When a visit began and ended; by its place in the turn where its entry was lost, and not later than all else."""
    start = visit["entered_us"] or item["started_us"] + _us(visit["offset_ms"])
    return start, start + _us(visit["took_ms"]) if visit["event"] else _end(item)


def _end(item: Item) -> int:
    """When the turn ended, or what is the last that is known of it."""
    if item["ended_us"] is not None:
        return int(item["ended_us"])
    begun = [visit["entered_us"] or 0 for visit in item["visits"]]
    return max([int(item["started_us"]), *begun])


def _visit_at(item: Item, phase: str, row: Item) -> str:
    """The visit in which something began, else the turn."""
    found = [v for v in item["visits"] if v["phase"] == phase and (v["entered_us"] or 0) <= row["started_us"]]
    return f"{phase} {found[-1]['visit']}" if found else ROOT


def _turn(item: Item, *, content: bool) -> Item:
    steps = [f"{s['decision']} {s['candidate']}: {s['reason']} ({s['rule']})" for s in item["fallback"]]
    said = {"phasewalk.question": item["question"], "phasewalk.answer": item["answer"]} if content else {}
    return {
        "phasewalk.turn_id": item["turn_id"],
        "phasewalk.kind": item["kind"],
        "phasewalk.outcome": item["outcome"],
        "phasewalk.reason": item["reason"],
        "phasewalk.first_reason": item["first_reason"],
        "phasewalk.reason_phase": item["phase"],
        "phasewalk.running": item["outcome"] is None or None,
        "phasewalk.contract": (item["contract"] or {}).get("hash"),
        "phasewalk.fallback": steps or None,
        "phasewalk.channel_id": item["channel_id"],
        "gen_ai.conversation.id": item["channel_id"],
        "enduser.pseudo.id": item["user_id"],
        **said,
    }


def _visit(visit: Item) -> Item:
    refused = [f"{guard['transition']} {guard['name']}" for guard in visit["guards"] if not guard["held"]]
    return {
        "phasewalk.phase": visit["phase"],
        "phasewalk.visit": visit["visit"],
        "phasewalk.event": visit["event"],
        "phasewalk.transition": visit["transition"],
        "phasewalk.to_phase": visit["to_phase"],
        "phasewalk.reason": visit["reason"],
        "phasewalk.budget_ms": visit["budget_ms"],
        "phasewalk.guards_refused": refused or None,
    }


def _attempt(attempt: Item) -> Item:
    return {
        "gen_ai.operation.name": OPERATIONS.get(attempt["api"], attempt["api"]),
        "gen_ai.provider.name": attempt["provider"],
        "gen_ai.request.model": attempt["model"],
        "gen_ai.response.finish_reasons": [attempt["finish_reason"]] if attempt["finish_reason"] else None,
        "gen_ai.usage.input_tokens": attempt["input_tokens"],
        "gen_ai.usage.output_tokens": attempt["output_tokens"],
        "http.response.status_code": attempt["http_status"],
        "phasewalk.cause": attempt["cause"],
        "phasewalk.status": attempt["status"],
        "phasewalk.attempt": attempt["n"],
    }


def _call(item: Item, call: Item, *, content: bool) -> Item:
    texts = {payload["what"]: payload["text"] for payload in item["payloads"] or ()} if content else {}
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call["name"],
        "gen_ai.tool.call.id": call["call_id"],
        "gen_ai.tool.call.arguments": texts.get(f"{call['call_id']} arguments"),
        "gen_ai.tool.call.result": texts.get(f"{call['call_id']} result"),
        "phasewalk.effect": call["effect"],
        "phasewalk.status": call["status"],
        "phasewalk.round": call["round"],
    }


def _attributes(values: Item) -> list[Document]:
    """What is known, as OTLP writes it: numbers of 64 bits as text."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: object) -> Document:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(part) for part in value]}}
    return {"stringValue": str(value)}
