"""Every way in which a model's answer goes wrong in the fault run, and what each must be taken for.

Owns the catalogue: the rows of FB-13, the bodies and the Retry-After forms that people reported, lost and slow
connections. Knows neither log nor machine. Invariant: each fault says which failure it is (`kind`) and by which
reason the log must name it, on both APIs; one without a kind is odd, and must be used all the same.
"""

import email.utils
import json
import time
from collections.abc import Callable, Iterator

from attrs import evolve, field, frozen

from phasewalk.machine.fallback import FailureKind as K
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.testing import (
    completion,
    envelope,
    hang,
    raw,
    refusal,
    reset,
    reset_mid_body,
    responses,
    slow,
    status,
    tool_calls,
)
from phasewalk.phases.providers.testing_steps import Reply, Step

LEAK = (
    "Traceback (most recent call last): openai.InternalServerError at /srv/app/bot.py with key sk-leak-0123456789abcdef"
)
"""Stands in error bodies and broken answers: nobody on the other side may ever read it."""


@frozen
class Ask:
    """One request as the script sees it: its answer's text, and a maker of tickets for calls of tools."""

    answer: str
    ticket: Callable[[], str]
    offers_tools: bool
    addressed: bool


@frozen
class Fault:
    """`make` builds the step; `needs` is `tools` or `addressed` where it makes sense only then."""

    name: str
    kind: K | None
    reason: Reason | None
    make: Callable[[Ask], Step] = field(repr=False)
    needs: str = ""

    def fits(self, ask: Ask) -> bool:
        """Whether this answer can be given to this request."""
        return not self.needs or (ask.offers_tools if self.needs == "tools" else ask.addressed)


def hung_up(_ask: Ask) -> Step:
    """Close the connection in order, without a word: the server does so when its script gives up."""
    raise ConnectionAbortedError("closed by the script")


def _fixed(step: Step) -> Callable[[Ask], Step]:
    return lambda _ask: step


def _on_both(chat: str, response: object) -> Reply:
    """This body on chat/completions, and a response with these output items on the other."""
    return evolve(raw(200, chat), response=responses(response).body)


def _text(text: str) -> Callable[[Ask], Step]:
    """A complete answer whose text is this; `@` stands for a valid envelope."""

    def make(ask: Ask) -> Step:
        return envelope(text=text.replace("@", _valid(ask.answer + LEAK)))

    return make


def _valid(answer: str, **changes: object) -> str:
    fields = {"answer": answer, "answer_needed": True, "channel": None, "staff": None, "picture": None}
    return json.dumps({**fields, "picture_count": None, "picture_edit": False, "hack": False, **changes})


def _broken(change: Callable[[str], str]) -> Callable[[Ask], Step]:
    return lambda ask: envelope(text=change(_valid(ask.answer + LEAK)))


def _unusable() -> Iterator[Fault]:
    null = {"role": "assistant", "content": None, "refusal": None}
    blank = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []}
    bodies: dict[str, tuple[Reason, Step]] = {
        "no choices": (Reason.NO_CHOICES, _on_both('{"choices": []}', [])),
        "{}": (Reason.NO_CHOICES, raw(200, "{}")),
        "null message": (Reason.MALFORMED_RESPONSE, _on_both('{"choices": [{"message": null}]}', [None])),
        "null content": (Reason.EMPTY_ANSWER, evolve(completion(null), response=responses([blank]).body)),
        "error with 200": (Reason.MALFORMED_RESPONSE, raw(200, json.dumps({"error": {"message": LEAK}}))),
        "HTML with 200": (Reason.MALFORMED_RESPONSE, raw(200, f"<html><body>{LEAK}</body></html>", None, "text/html")),
        "empty body": (Reason.EMPTY_ANSWER, raw(200, "")),
        "cut-off body": (Reason.MALFORMED_RESPONSE, raw(200, '{"id": "x", "choices": [{"mess')),
        "a list": (Reason.MALFORMED_RESPONSE, raw(200, "[]")),
        "not UTF-8": (Reason.MALFORMED_RESPONSE, raw(200, b"\xff\xfe\x00")),
        "refusal": (Reason.REFUSED_BY_MODEL, refusal(LEAK)),
        "truncated": (Reason.TRUNCATED, envelope(LEAK, finish_reason="length")),
    }
    for name, (reason, step) in bodies.items():
        yield Fault(name, K.UNUSABLE, reason, _fixed(step))
    texts = {"fenced": "```json\n@\n```", "prose": "Sure! @", "two objects": "@ @", "no JSON": LEAK, "null": "null"}
    for name, text in texts.items():
        yield Fault(name, K.UNUSABLE, Reason.ENVELOPE_INVALID, _text(text))
    changes: dict[str, Callable[[str], str]] = {
        "trailing comma": lambda text: text[:-1] + ",}",
        "duplicate keys": lambda text: text[:-1] + ', "hack": false}',
        "NaN": lambda text: text.replace('"picture_count": null', '"picture_count": NaN'),
        "extra key": lambda text: text[:-1] + ', "mood": "fine"}',
        "missing key": lambda text: text.replace(', "hack": false', ""),
        "wrong type": lambda text: text.replace('"hack": false', '"hack": "no"'),
    }
    for name, change in changes.items():
        yield Fault(name, K.UNUSABLE, Reason.ENVELOPE_INVALID, _broken(change))
    yield Fault("empty answer", K.UNUSABLE, Reason.EMPTY_ANSWER, _fixed(envelope(" \u200b")), needs="addressed")


def _in(seconds: float) -> str:
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


def _limited(**headers: str) -> Step:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status(429, named, message=LEAK, error_code="rate_limit_exceeded")


def _rate_limits() -> Iterator[Fault]:
    forms: dict[str, Callable[[], Step]] = {
        "429": _limited,
        "429, 2": lambda: _limited(retry_after="2"),
        "429, 600": lambda: _limited(retry_after="600"),
        "429, 300 ms": lambda: _limited(retry_after_ms="300"),
        "429, a date": lambda: _limited(retry_after=_in(1.5)),
        "429, a date long past": lambda: _limited(retry_after=_in(-3600)),
        "429, -5": lambda: _limited(retry_after="-5"),
        "429, soon": lambda: _limited(retry_after="soon"),
    }
    for name, form in forms.items():
        yield Fault(name, K.RATE_LIMITED, Reason.HTTP_429, lambda _ask, form=form: form())


def _transient() -> Iterator[Fault]:
    for code in (500, 502, 503, 529):
        body = status(code, message=LEAK) if code != 502 else raw(502, f"<html>{LEAK}</html>", None, "text/html")
        yield Fault(str(code), K.TRANSIENT, Reason.HTTP_5XX, _fixed(body))
    for code in (408, 409):
        yield Fault(str(code), K.TRANSIENT, Reason.HTTP_4XX, _fixed(status(code, message=LEAK)))
    told = {"error": {"message": LEAK, "code": "server_error"}}
    yield Fault("server_error with 200", K.TRANSIENT, Reason.HTTP_5XX, _fixed(raw(200, json.dumps(told))))
    lost = {
        "reset": _fixed(reset()),
        "reset mid-body": _fixed(reset_mid_body()),
        "closed without a word": hung_up,
        "two lengths": _fixed(raw(200, "{}", {"content-length": "99999"})),
    }
    for name, make in lost.items():
        yield Fault(name, K.TRANSIENT, Reason.CONNECTION_FAILED, make)
    late = {"hang": hang(), "slow first byte": slow(first_byte=1.6), "slow body": slow(per_byte=0.05)}
    for name, step in late.items():
        yield Fault(name, K.TRANSIENT, Reason.TIMED_OUT, _fixed(step))


def _final() -> Iterator[Fault]:
    """Failures that no repetition mends."""
    for code in (400, 401, 403, 404, 422):
        yield Fault(str(code), K.PERMANENT, Reason.HTTP_4XX, _fixed(status(code, message=LEAK)))
    quota = status(429, {"retry-after": "1"}, message=LEAK, error_code="insufficient_quota")
    yield Fault("no quota", K.PERMANENT, Reason.HTTP_429, _fixed(quota))
    cause = {"error": {"message": "bad gateway", "cause": {"message": LEAK, "code": "context_length_exceeded"}}}
    too_long = {
        "too long": status(400, message=LEAK, error_code="context_length_exceeded"),
        "too long, nested": raw(500, json.dumps(cause)),
    }
    for name, step in too_long.items():
        yield Fault(name, K.CONTEXT_LIMIT, Reason.CONTEXT_LIMIT, _fixed(step))
    blocks = {
        "filtered answer": envelope(LEAK, finish_reason="content_filter"),
        "blocked request": status(400, message=LEAK, error_code="content_policy_violation"),
    }
    for name, step in blocks.items():
        yield Fault(name, K.SAFETY_BLOCK, Reason.SAFETY_BLOCK, _fixed(step))


def _called(*calls: tuple[str, str, object]) -> Step:
    return tool_calls(calls)


def _odd() -> Iterator[Fault]:
    """Answers that look wrong and can be used; and calls of which nothing but a refusal may come."""
    odd: dict[str, Callable[[Ask], Step]] = {
        "double tool ids": lambda ask: _called(
            ("same", "ledger_read", {"ticket": ask.ticket()}), ("same", "ledger_write", {"ticket": ask.ticket()})
        ),
        "arguments of the wrong type": lambda ask: _called(("a", "ledger_write", {"ticket": 7, "x": ask.ticket()})),
        "arguments that are no JSON": lambda ask: _called(("a", "ledger_write", '{"ticket": "' + ask.ticket())),
        "no arguments": lambda _ask: _called(("a", "ledger_read", "")),
        "an unknown tool": lambda ask: _called(("a", "ledger_burn", {"ticket": ask.ticket()})),
        "arguments that the tool's own check trips over": lambda ask: _called(
            ("a", "ledger_write", {"ticket": ask.ticket(), "page": "torn"})
        ),
        "no id": lambda ask: _called(("", "ledger_read", {"ticket": ask.ticket()})),
    }
    for name, make in odd.items():
        yield Fault(name, None, None, make, needs="tools")
    yield Fault("unknown finish reason", None, None, lambda ask: envelope(ask.answer, finish_reason="so_to_speak"))
    yield Fault("slow, in time", None, None, lambda ask: slow(envelope(ask.answer), first_byte=0.2))


FAULTS: tuple[Fault, ...] = (*_unusable(), *_rate_limits(), *_transient(), *_final(), *_odd())
