"""Reads the body of a chat/completions answer with status 200, and says exactly what it lacks (FB-16).

Owns the order in which such a body is judged: the finish reason before the text (ENV-18). Knows no client and no
envelope. Invariant: a body becomes a reply with text or calls, or one typed failure.
"""

import json

from attrs import define

from phasewalk.machine.documents import json_of
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.ports import ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.turn import ModelReply, ToolCall
from phasewalk.phases.providers.openai_faults import Answered, Asked, problem_of


def read_reply(asked: Asked, answered: Answered) -> ModelReply:
    """The usable reply in `answered`; raises `ProviderError` when there is none."""
    return _Reader(asked, answered).reply()


@define
class _Reader:
    asked: Asked
    answered: Answered
    finish_reason: str | None = None

    def reply(self) -> ModelReply:
        body = self._body()
        choice = self._choice(body)
        self._check_finish(choice)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise self._malformed(f"the first choice has no message but {_kind(message)}")
        if message.get("refusal"):
            raise self._unusable(Reason.REFUSED_BY_MODEL, "the model refused to answer")
        text, calls = self._content(message), self._calls(message)
        if text is None and not calls:
            lacking = "null" if message.get("content") is None else "blank"
            raise self._unusable(Reason.EMPTY_ANSWER, f"the content of the message is {lacking}, with no tool calls")
        usage = body.get("usage")
        return ModelReply(
            text,
            calls,
            self.finish_reason,
            _count(usage, "prompt_tokens"),
            _count(usage, "completion_tokens"),
            self.answered.request_id,
        )

    def _body(self) -> dict[str, object]:
        text = self.answered.text
        if not text.strip():
            raise self._unusable(Reason.EMPTY_ANSWER, "the body of the answer is empty, JSON was due")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            if text.lstrip().startswith("<"):
                raise self._malformed("a page of markup came with status 200, JSON was due") from error
            where = f" from character {error.pos} of {len(text)} on" if isinstance(error, json.JSONDecodeError) else ""
            raise self._malformed(f"the body of the answer is no JSON{where}") from error
        if not isinstance(body, dict):
            raise self._malformed(f"the body of the answer is {_kind(body)}, an object was due")
        return body

    def _choice(self, body: dict[str, object]) -> dict[str, object]:
        choices = body.get("choices")
        if body.get("error") and not choices:
            raise self._error_object(body)
        if choices is None:
            lacking = "null" if "choices" in body else "missing"
            raise self._unusable(Reason.NO_CHOICES, f"choices is {lacking} in the answer, one was due")
        if choices == []:
            raise self._unusable(Reason.NO_CHOICES, "choices is an empty list, one was due")
        first = choices[0] if isinstance(choices, list) else choices
        if not isinstance(choices, list) or not isinstance(first, dict):
            raise self._malformed(f"choices holds {_kind(first)} where an object was due")
        return first

    def _check_finish(self, choice: dict[str, object]) -> None:
        finish = choice.get("finish_reason")
        self.finish_reason = finish if isinstance(finish, str) else None
        if finish == "length":
            raise self._unusable(Reason.TRUNCATED, "the answer was cut off, finish reason length")
        if finish == "content_filter":
            raise self._fault(FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK, "the provider's content filter stopped it")

    def _content(self, message: dict[str, object]) -> str | None:
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            raise self._malformed(f"the content of the message is {_kind(content)}, a text was due")
        return content if content and content.strip() else None

    def _calls(self, message: dict[str, object]) -> tuple[ToolCall, ...]:
        asked_for = message.get("tool_calls") or []
        if not isinstance(asked_for, list):
            raise self._malformed(f"tool_calls is {_kind(asked_for)}, a list was due")
        return tuple(map(self._call, asked_for))

    def _call(self, call: object) -> ToolCall:
        """One call, its arguments as sent: whether they are any good is for the tool's schema to say."""
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise self._malformed("a tool call names no function")
        provider_id = call["id"] if isinstance(call.get("id"), str) else ""
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json_of(arguments or {})
        return ToolCall(provider_id, provider_id, function["name"], text)

    def _error_object(self, body: dict[str, object]) -> ProviderError:
        problem = problem_of(body)
        kind, reason = FailureKind.UNUSABLE, Reason.MALFORMED_RESPONSE
        if problem.is_context:
            kind, reason = FailureKind.CONTEXT_LIMIT, Reason.CONTEXT_LIMIT
        elif problem.is_safety:
            kind, reason = FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK
        return self._fault(kind, reason, f"an error came with status 200 in place of choices: {problem}")

    def _malformed(self, what: str) -> ProviderError:
        return self._unusable(Reason.MALFORMED_RESPONSE, what)

    def _unusable(self, reason: Reason, what: str) -> ProviderError:
        return self._fault(FailureKind.UNUSABLE, reason, what)

    def _fault(self, kind: FailureKind, reason: Reason, what: str) -> ProviderError:
        return self.asked.fault(kind, reason, what, self.answered, finish_reason=self.finish_reason)


def _kind(value: object) -> str:
    """What sort of JSON value this is, for messages."""
    kinds = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "null")


def _count(usage: object, key: str) -> int | None:
    value = usage.get(key) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
