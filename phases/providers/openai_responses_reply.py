"""Reads the body of a Responses answer with status 200, and says exactly what it lacks (FB-16).

Owns the order in which such a body is judged: the status before the text (ENV-18), and which messages are the
answer (ENV-33). Knows no client and no envelope. Invariant: a body becomes a reply with text or calls, or one
typed failure.
"""

from collections.abc import Iterator

from attrs import define

from phasewalk.machine.exchange import ModelReply
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.openai_body import Reading, count, kind_of
from phasewalk.phases.providers.openai_faults import Answered, Asked
from phasewalk.phases.providers.openai_responses_items import kept

_Object = dict[str, object]


def read_reply(asked: Asked, answered: Answered, now: float) -> ModelReply:
    """The usable reply in `answered`; raises `ProviderError` when there is none. `now`: seconds since the epoch."""
    return _Reader(asked, answered, now).reply()


@define
class _Reader(Reading):
    def reply(self) -> ModelReply:
        body = self.body()
        self._check_status(body)
        output = self.entries(body, "output")
        messages = [item for item in output if item.get("type") == "message"]
        parts = {id(message): list(self._parts(message)) for message in messages}
        if any(part.get("type") == "refusal" for found in parts.values() for part in found):
            raise self.refused()
        final = _final(messages)
        text = "".join(self._text(part) for message in final for part in parts[id(message)])
        asked_for = [item for item in output if item.get("type") == "function_call"]
        calls = tuple(self.call(item.get("call_id"), item.get("name"), item.get("arguments")) for item in asked_for)
        if not text.strip() and not calls:
            raise self.unusable(Reason.EMPTY_ANSWER, f"{_lacking(messages, final)}, with no function call")
        usage = body.get("usage")
        return ModelReply(
            text if text.strip() else None,
            calls,
            self.finish_reason,
            count(usage, "input_tokens"),
            count(usage, "output_tokens"),
            self.answered.request_id,
            kept(output) if calls else (),
        )

    def _check_status(self, body: _Object) -> None:
        """Nothing but a completed response is an answer, whatever text it holds.

        A server that tells no status is judged by its output.
        """
        status = body.get("status")
        self.finish_reason = status if isinstance(status, str) else None
        match status:
            case "completed" | None:
                return
            case "incomplete":
                self._incomplete(body)
            case "failed":
                raise self.error(body.get("error"), "the response failed")
            case _:
                raise self.malformed(
                    f"the status of the response is {self.finish_reason or kind_of(status)}, completed was due"
                )

    def _incomplete(self, body: _Object) -> None:
        details = body.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        if isinstance(reason, str):
            self.finish_reason = reason
        if reason == "content_filter":
            raise self.filtered()
        raise self.unusable(Reason.TRUNCATED, f"the answer was cut off, {self.finish_reason}")

    def _parts(self, message: _Object) -> Iterator[_Object]:
        content = message.get("content")
        if not isinstance(content, list):
            raise self.malformed(f"the content of a message is {kind_of(content)}, a list was due")
        for part in content:
            if not isinstance(part, dict):
                raise self.malformed(f"the content of a message holds {kind_of(part)} where an object was due")
            yield part

    def _text(self, part: _Object) -> str:
        if part.get("type") != "output_text":
            return ""
        text = part.get("text")
        if not isinstance(text, str):
            raise self.malformed(f"the text of a message is {kind_of(text)}, a text was due")
        return text


def _final(messages: list[_Object]) -> list[_Object]:
    """The messages that are the answer: where any has a phase, those of the final one (ENV-33)."""
    if not any(message.get("phase") for message in messages):
        return messages
    return [message for message in messages if message.get("phase") == "final_answer"]


def _lacking(messages: list[_Object], final: list[_Object]) -> str:
    if not messages:
        return "the output holds no message"
    return "the text of the messages is blank" if final else "the output holds commentary and no final answer"
