"""Reads what the answers of OpenAI's APIs with status 200 have in common, and says what they lack (FB-16).

Owns the way from bytes to an object and to its list of entries. Knows no client and none of the lists.
Invariant: what is no answer is one typed failure that names what came and what was due.
"""

import json

from attrs import define

from phasewalk.machine.documents import json_of
from phasewalk.machine.exchange import ToolCall
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.provider import ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.openai_faults import Answered, Asked, delay_of, judged, problem_of

_UNCOUNTABLE = 1 << 53
"""No call costs so many tokens; what JSON may hold beyond is no count."""


@define
class Reading:
    """An answer that is being read; `now` in seconds since the epoch, `finish_reason` once it is known."""

    asked: Asked
    answered: Answered
    now: float
    finish_reason: str | None = None

    def body(self) -> dict[str, object]:
        """The object that came."""
        text = self.answered.text
        if not text.strip():
            raise self.unusable(Reason.EMPTY_ANSWER, "the body of the answer is empty, JSON was due")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            if text.lstrip().startswith("<"):
                raise self.malformed("a page of markup came with status 200, JSON was due") from error
            where = f" from character {error.pos} of {len(text)} on" if isinstance(error, json.JSONDecodeError) else ""
            raise self.malformed(f"the body of the answer is no JSON{where}") from error
        if not isinstance(body, dict):
            raise self.malformed(f"the body of the answer is {kind_of(body)}, an object was due")
        return body

    def entries(self, body: dict[str, object], key: str) -> list[dict[str, object]]:
        """The objects in the list `key`, at least one; an error in their place is that error."""
        value = body.get(key)
        if body.get("error") and not value:
            raise self.error(body, f"an error came with status 200 in place of {key}")
        if value is None:
            lacking = "null" if key in body else "missing"
            raise self.unusable(Reason.NO_CHOICES, f"{key} is {lacking} in the answer, one was due")
        if value == []:
            raise self.unusable(Reason.NO_CHOICES, f"{key} is an empty list, one was due")
        if not isinstance(value, list):
            raise self.malformed(f"{key} is {kind_of(value)}, a list was due")
        return [self._entry(entry, key) for entry in value]

    def _entry(self, entry: object, key: str) -> dict[str, object]:
        if not isinstance(entry, dict):
            raise self.malformed(f"{key} holds {kind_of(entry)} where an object was due")
        return entry

    def call(self, call_id: object, name: object, arguments: object) -> ToolCall:
        """One call, its arguments as sent: whether they are any good is for the tool's schema to say."""
        if not isinstance(name, str):
            raise self.malformed("a tool call names no function")
        provider_id = call_id if isinstance(call_id, str) else ""
        text = arguments if isinstance(arguments, str) else json_of(arguments or {})
        return ToolCall(provider_id, provider_id, name, text)

    def refused(self) -> ProviderError:
        """The failure that the model declined (ENV-18, ENV-24)."""
        return self.unusable(Reason.REFUSED_BY_MODEL, "the model refused to answer")

    def filtered(self) -> ProviderError:
        """The failure that the provider would not let the answer pass (ENV-29)."""
        what = "the provider's content filter stopped it"
        return self._fault(FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK, what)

    def error(self, body: object, what: str) -> ProviderError:
        """The failure that an error object in `body` speaks of."""
        problem = problem_of(body)
        kind, reason = judged(problem.status, problem)
        return self.asked.fault(
            kind,
            reason,
            f"{what}: {problem}",
            self.answered,
            finish_reason=self.finish_reason,
            retry_after=delay_of(problem.status, self.answered.headers, self.now),
        )

    def malformed(self, what: str) -> ProviderError:
        """The failure that the answer is not what its API promises."""
        return self.unusable(Reason.MALFORMED_RESPONSE, what)

    def unusable(self, reason: Reason, what: str) -> ProviderError:
        """The failure that nothing can be done with the answer."""
        return self._fault(FailureKind.UNUSABLE, reason, what)

    def _fault(self, kind: FailureKind, reason: Reason, what: str) -> ProviderError:
        return self.asked.fault(kind, reason, what, self.answered, finish_reason=self.finish_reason)


def kind_of(value: object) -> str:
    """What sort of JSON value this is, for messages."""
    kinds = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "null")


def count(usage: object, key: str) -> int | None:
    """The number of tokens under `key`, None where the provider does not count."""
    value = usage.get(key) if isinstance(usage, dict) else None
    counted = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _UNCOUNTABLE
    return value if counted else None
