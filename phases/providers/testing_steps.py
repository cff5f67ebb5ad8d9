"""The steps of a scripted model server: what it answers, good and bad.

Owns the bytes of each answer, on chat/completions and on the Responses API: a step that a model's answer is made of
holds both. Knows no socket. Invariant: a step is a value; the same step is the same bytes.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
"""A picture of one pixel, as PNG."""


@frozen
class Reply:
    """Answer with these bytes; where there is a `response`, with that on the Responses API."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(factory=dict)
    response: bytes | None = None

    def on(self, path: str) -> "Reply":
        """What is answered on this path."""
        if self.response is None or not path.endswith("/responses"):
            return self
        return evolve(self, body=self.response, response=None)


@frozen
class Hang:
    """Accept the request and never answer."""


@frozen
class Reset:
    """Reset the connection after this share of the answer, 0 to 1; None resets before anything is sent."""

    reply: Reply
    after: float | None = None


@frozen
class Slow:
    """Answer after `first_byte` seconds, then one byte of the body each `per_byte` seconds."""

    reply: Reply
    first_byte: float = 0.0
    per_byte: float = 0.0


Step = Reply | Hang | Reset | Slow


def raw(
    status: int,
    body: str | bytes,
    headers: Mapping[str, str] | None = None,
    content_type: str = "application/json",
) -> Reply:
    """Exactly this answer, whatever it is worth."""
    content = body.encode() if isinstance(body, str) else body
    return Reply(content, status, content_type, headers or {})


def completion(message: Mapping[str, object] | None, finish_reason: str | None = "stop") -> Reply:
    """A well-formed answer with one choice, or with the items that it is on the Responses API."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": message}
    body = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [choice],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
    cut = _CUT.get(finish_reason or "")
    extra = {"incomplete_details": {"reason": cut}} if cut else {}
    response = responses(list(_items(message or {})), "incomplete" if cut else "completed", **extra)
    return evolve(raw(200, json.dumps(body)), response=response.body)


_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The reasons of an incomplete response by the finish reason of a choice."""


def _items(message: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """The output items that say what a choice's message says."""
    parts: list[dict[str, object]] = []
    if isinstance(message.get("content"), str):
        parts.append({"type": "output_text", "text": message["content"], "annotations": []})
    if message.get("refusal"):
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    if parts:
        yield {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": parts}
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else [], 1):
        named = {"type": "function_call", "id": f"fc_{number}", "status": "completed"}
        yield {**named, "call_id": call.get("id"), **call.get("function", {})}


def responses(output: object, status: str | None = "completed", **extra: object) -> Reply:
    """A Responses answer with these output items, whatever they are worth; `extra` replaces or adds keys."""
    body = {
        "id": "resp-scripted",
        "object": "response",
        "created_at": 0,
        "model": "scripted",
        "status": status,
        "error": None,
        "incomplete_details": None,
        "output": output,
        "usage": {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18},
    }
    return raw(200, json.dumps({**body, **extra}))


def picture(data: bytes | str = PIXEL, count: int = 1) -> Reply:
    """An answer of the image API: this picture so many times; text is taken for base64, as in a script file."""
    encoded = data if isinstance(data, str) else base64.b64encode(data).decode()
    return raw(200, json.dumps({"created": 0, "data": [{"b64_json": encoded}] * count}))


def envelope(
    answer: str | None = None,
    *,
    text: str | None = None,
    finish_reason: str = "stop",
    **fields: object,
) -> Reply:
    """A valid envelope with this answer; `fields` replace or add keys, `text` stands in place of the envelope."""
    values: dict[str, object] = {
        "answer": answer,
        "answer_needed": True,
        "channel": None,
        "staff": None,
        "picture": None,
        "picture_count": None,
        "picture_edit": False,
        "hack": False,
    }
    content = json.dumps({**values, **fields}) if text is None else text
    return completion({"role": "assistant", "content": content, "refusal": None}, finish_reason)


def tool_calls(calls: Sequence[tuple[str, str, object]], said: str | None = None) -> Reply:
    """Calls as (id, name, arguments); arguments that are text go out as they stand, others as JSON."""
    listed = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for call_id, name, given in calls
    ]
    return completion({"role": "assistant", "content": said, "tool_calls": listed}, "tool_calls")


def refusal(text: str) -> Reply:
    """The model declines."""
    return completion({"role": "assistant", "content": None, "refusal": text})


def status(
    code: int,
    headers: Mapping[str, str] | None = None,
    *,
    message: str = "scripted",
    error_code: str | None = None,
) -> Reply:
    """An error status with an error body of the usual shape."""
    error = {"message": message, "type": "scripted_error", "param": None, "code": error_code}
    return raw(code, json.dumps({"error": error}), headers)


def hang() -> Hang:
    """Accept and never answer."""
    return Hang()


def reset() -> Reset:
    """Reset the connection in place of an answer."""
    return Reset(envelope("lost"))


def reset_mid_body() -> Reset:
    """Send the head and half of the body, then reset the connection."""
    return Reset(envelope("lost"), 0.5)


def slow(reply: Reply | None = None, *, first_byte: float = 0.0, per_byte: float = 0.0) -> Slow:
    """A good answer that takes its time; seconds."""
    return Slow(reply or envelope("late"), first_byte, per_byte)


STEPS: Mapping[str, Callable[..., Step]] = {
    step.__name__: step
    for step in (
        envelope,
        completion,
        tool_calls,
        refusal,
        responses,
        picture,
        raw,
        status,
        hang,
        reset,
        reset_mid_body,
        slow,
    )
}
"""The steps by the names that a script file gives them."""


def step_on(step: Step, path: str) -> Step:
    """The step as it is done on this path."""
    match step:
        case Reply():
            return step.on(path)
        case Reset() | Slow():
            return evolve(step, reply=step.reply.on(path))
        case _:
            return step


def step_of(described: Mapping[str, Any]) -> Step:
    """The step that `{"step": "envelope", "answer": "hi"}` describes; the other keys are its arguments."""
    arguments = {name: value for name, value in described.items() if name != "step"}
    if isinstance(arguments.get("reply"), Mapping):
        arguments["reply"] = step_of(arguments["reply"])
    return STEPS[described["step"]](**arguments)
