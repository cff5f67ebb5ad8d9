"""The embedded responder, `api = "rules"`: a provider without model, key or network (OPS-02).

It answers from the operator's rules, tool commands, the FAQ and the rules that ship, in this order, with the
same envelope that a model is asked for (ENV-19). Of the commands that ship one message may hold several; each is
obeyed. Invariant: the same request gives the same reply, and no answer claims what no rule, FAQ entry or tool
result says.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from phasewalk.machine.exchange import ModelReply, ToolCall
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.provider import ModelRequest, PictureRequest, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Picture
from phasewalk.machine.text import storable
from phasewalk.machine.words import Kind
from phasewalk.phases.providers.rules_faq import best
from phasewalk.phases.providers.rules_load import PLACEHOLDER, Rule, Rules, load_rules
from phasewalk.phases.providers.rules_results import answer_from
from phasewalk.phases.reminders import task_in

__all__ = ["RulesProvider", "asked_in", "load_rules"]

READ = 4000
"""Characters of a message that rules look at."""

PASSED_ON = "I have passed this on as a note for the staff."
_MENTION = re.compile(r"^\s*(?:<@!?\d+>|@[\w.-]+)\s*[,:]?\s*")


@frozen
class Asked:
    """What the request's message says, who wrote it, and whether the bot was spoken to."""

    text: str
    author: str
    addressed: bool


@frozen
class Decision:
    """What to reply, and which rule decided; one with `calls`, each a tool and its arguments, has nothing else."""

    decided_by: str
    answer: str | None = None
    staff: str | None = None
    calls: tuple[tuple[str, str], ...] = ()


class RulesProvider:
    """Implements the machine's `Provider`; asks nobody, keeps nothing between requests."""

    def __init__(self, rules: Rules | None = None) -> None:
        """`rules` as `load_rules` makes them; without, those that ship."""
        self._rules = rules or load_rules(None, None)

    def request_text(self, request: ModelRequest) -> str:
        """What is looked at, as JSON text for the log."""
        asked = asked_in(request)
        return _json(
            {
                "api": "rules",
                "model": request.model,
                "text": asked.text,
                "addressed": asked.addressed,
                "tools": [tool.name for tool in request.tools],
                "results": [
                    {"tool": result.call.name, "status": result.status, "text": result.text}
                    for exchange in request.exchanges
                    for result in exchange.results
                ],
            }
        )

    async def complete(self, request: ModelRequest) -> tuple[ModelReply, str]:
        """The reply, and as text for the log the reply again with the rule that decided.

        Raises `ProviderError` for a request that wants a text written, such as a summary.
        """
        if not request.prompt.structured:
            what = f"{request.source} answers from rules and writes no other texts"
            raise ProviderError(FailureKind.PERMANENT, Reason.MISSING_CAPABILITY, what)
        decision = self._decide(request)
        if decision.calls:
            first = 1 + sum(len(exchange.calls) for exchange in request.exchanges)
            calls = tuple(ToolCall(f"rules-{n}", f"rules-{n}", *call) for n, call in enumerate(decision.calls, first))
            reply = ModelReply(None, calls, finish_reason="tool_calls")
        else:
            reply = ModelReply(_envelope(decision), finish_reason="stop")
        shown = [{"id": c.provider_id, "name": c.name, "arguments": c.arguments} for c in reply.calls]
        said = {"decided_by": decision.decided_by, "content": reply.text, "tool_calls": shown}
        return reply, _json({**said, "finish_reason": reply.finish_reason})

    async def pictures(self, request: PictureRequest) -> tuple[Picture, ...]:
        """Always raises: rules draw nothing."""
        raise ProviderError(FailureKind.PERMANENT, Reason.MISSING_CAPABILITY, f"{request.provider} makes no pictures")

    def _decide(self, request: ModelRequest) -> Decision:
        if request.exchanges:
            return Decision("tool results", answer_from(request.exchanges))
        asked = asked_in(request)
        for decision in self._decisions(asked, request):
            return decision
        return Decision("no rule", self._rules.no_answer if asked.addressed else None)

    def _decisions(self, asked: Asked, request: ModelRequest) -> Iterator[Decision]:
        """What each source has to say, the first one first."""
        task = task_in(asked.text) if request.kind == Kind.SCHEDULED else None
        if task is not None:  # its words are the task's, and ask for nothing
            yield Decision("reminder", f"Reminder: {task}")
        yield from self._matching(self._rules.operator, asked, request)
        yield from self._commands(asked, request)
        entry = best(self._rules.faq, asked.text) if asked.addressed else None
        if entry is not None:
            yield Decision(f"FAQ: {entry.question}", entry.answer)
        yield from self._matching((rule for rule in self._rules.shipped if not rule.tool), asked, request)

    def _matching(self, rules: Iterable[Rule], asked: Asked, request: ModelRequest) -> Iterator[Decision]:
        for rule in rules:
            values = rule.match(asked.text) if asked.addressed or not rule.only_addressed else None
            if values is not None:
                yield self._obey(rule, {**values, "author": asked.author}, asked, request)

    def _commands(self, asked: Asked, request: ModelRequest) -> Iterator[Decision]:
        """The calls of every command in the message, in its order, or the refusal of one that is not offered.

        What a command has read, such as the text of a note, holds no other; of two that begin at one place the
        earlier rule is meant.
        """
        rules = [rule for rule in self._rules.shipped if rule.tool and asked.addressed]
        places = [(place, rule, values) for rule in rules for place, values in rule.matches(asked.text)]
        decisions: list[Decision] = []
        read_to = 0
        for place, rule, values in sorted(places, key=lambda found: found[0].start):
            if place.start >= read_to:
                read_to = place.stop
                decisions.append(_call(rule, {**values, "author": asked.author}, asked, request))
        yield from (decision for decision in decisions if not decision.calls)
        if decisions:
            calls = dict.fromkeys(call for decision in decisions for call in decision.calls)
            yield Decision(", ".join(dict.fromkeys(d.decided_by for d in decisions)), calls=tuple(calls))

    def _obey(self, rule: Rule, values: Mapping[str, str], asked: Asked, request: ModelRequest) -> Decision:
        match rule.action:
            case "answer":
                return Decision(rule.origin, _filled(rule.text, values))
            case "staff":
                return Decision(rule.origin, PASSED_ON if asked.addressed else None, _filled(rule.text, values))
            case "silence":  # who spoke to the bot is never left without a word (ENV-04)
                return Decision(rule.origin, self._rules.no_answer if asked.addressed else None)
            case "tool":
                return _call(rule, values, asked, request)


def asked_in(request: ModelRequest) -> Asked:
    """The message in the prompt's user part; a text that is no JSON is taken as the message itself."""
    spoken_to = request.speaks_to_bot
    try:
        document = json.loads(request.prompt.user)
    except (ValueError, RecursionError):
        document = request.prompt.user
    message = document.get("message") if isinstance(document, dict) else document
    if not isinstance(message, dict):
        return Asked(_read(message), "", spoken_to)
    if request.kind != Kind.SCHEDULED and "addressed" in message:
        spoken_to = message["addressed"] is not None
    return Asked(_read(message.get("text")), str(message.get("author") or ""), spoken_to)


def _read(text: object) -> str:
    """As much of a message as rules look at, without the mention that it begins with."""
    return _MENTION.sub("", text[:READ]).strip() if isinstance(text, str) else ""


def _call(rule: Rule, values: Mapping[str, str], asked: Asked, request: ModelRequest) -> Decision:
    """The rule's call, if the turn offers the tool; else who asked is told that it does not."""
    schema = next((tool for tool in request.tools if tool.name == rule.tool), None)
    if schema is None:
        refusal = f"I may not use {rule.tool} for this message, so nothing was done."
        return Decision(rule.origin, refusal if asked.addressed else None)
    properties = schema.parsed_parameters().get("properties")
    arguments = {
        name: _argument(value, values, properties.get(name) if isinstance(properties, dict) else None)
        for name, value in rule.arguments.items()
    }
    return Decision(rule.origin, calls=((rule.tool, _json(arguments)),))


def _argument(value: object, values: Mapping[str, str], schema: object) -> object:
    """An argument with its placeholders filled in; digits become a number where the tool's schema asks for one."""
    if isinstance(value, dict):
        return {key: _argument(part, values, None) for key, part in value.items()}
    if isinstance(value, list):
        return [_argument(part, values, None) for part in value]
    if not isinstance(value, str):
        return value
    text = _filled(value, values)
    wants_number = isinstance(schema, dict) and schema.get("type") == "integer"
    return int(text) if wants_number and re.fullmatch(r"-?[0-9]{1,18}", text) else text


def _filled(template: str, values: Mapping[str, str]) -> str:
    """`template` with the known placeholders replaced, once; other braces stay as they are."""
    return PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template)


def _envelope(decision: Decision) -> str:
    return _json(
        {
            "answer": decision.answer,
            "answer_needed": decision.answer is not None,
            "channel": None,
            "staff": decision.staff,
            "picture": None,
            "picture_count": None,
            "picture_edit": False,
            "hack": False,
        }
    )


def _json(value: object) -> str:
    return storable(json.dumps(value, ensure_ascii=False))
