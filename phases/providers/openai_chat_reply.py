"""Reads the body of a chat/completions answer with status 200, and says exactly what it lacks (FB-16).

Owns the order in which such a body is judged: the finish reason before the text (ENV-18). Knows no client and no
envelope. Invariant: a body becomes a reply with text or calls, or one typed failure.
"""

from attrs import define

from phasewalk.machine.exchange import ModelReply, ToolCall
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.openai_body import Reading, count, kind_of
from phasewalk.phases.providers.openai_faults import Answered, Asked


def read_reply(asked: Asked, answered: Answered, now: float) -> ModelReply:
    """The usable reply in `answered`; raises `ProviderError` when there is none. `now`: seconds since the epoch."""
    return _Reader(asked, answered, now).reply()


@define
class _Reader(Reading):
    def reply(self) -> ModelReply:
        body = self.body()
        choice = self.entries(body, "choices")[0]
        self._check_finish(choice)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise self.malformed(f"the first choice has no message but {kind_of(message)}")
        if message.get("refusal"):
            raise self.refused()
        text, calls = self._content(message), self._calls(message)
        if text is None and not calls:
            lacking = "null" if message.get("content") is None else "blank"
            raise self.unusable(Reason.EMPTY_ANSWER, f"the content of the message is {lacking}, with no tool calls")
        usage = body.get("usage")
        return ModelReply(
            text,
            calls,
            self.finish_reason,
            count(usage, "prompt_tokens"),
            count(usage, "completion_tokens"),
            self.answered.request_id,
        )

    def _check_finish(self, choice: dict[str, object]) -> None:
        finish = choice.get("finish_reason")
        self.finish_reason = finish if isinstance(finish, str) else None
        if finish == "length":
            raise self.unusable(Reason.TRUNCATED, "the answer was cut off, finish reason length")
        if finish == "content_filter":
            raise self.filtered()

    def _content(self, message: dict[str, object]) -> str | None:
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            raise self.malformed(f"the content of the message is {kind_of(content)}, a text was due")
        return content if content and content.strip() else None

    def _calls(self, message: dict[str, object]) -> tuple[ToolCall, ...]:
        asked_for = message.get("tool_calls") or []
        if not isinstance(asked_for, list):
            raise self.malformed(f"tool_calls is {kind_of(asked_for)}, a list was due")
        return tuple(map(self._call, asked_for))

    def _call(self, call: object) -> ToolCall:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(function, dict):
            raise self.malformed("a tool call names no function")
        return self.call(call.get("id"), function.get("name"), function.get("arguments"))
