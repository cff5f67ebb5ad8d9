"""The rest of the world of a replay: tools, surface, circuits, permissions, admission, ids, each as recorded.

Owns how each answers from the record. Runs no tool, sends nothing, and draws nothing by chance. Invariant: what was
not recorded is not answered; the walk leaves the record there.
"""

import asyncio
import re
from collections.abc import Mapping

from attrs import define, field, frozen

from phasewalk.machine.circuit import CircuitAnswer, CircuitState
from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.exchange import canonical
from phasewalk.machine.ports import Sight
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Speech
from phasewalk.machine.tooling import ApprovalCall, ToolContext, ToolInfo, Tools
from phasewalk.machine.trigger import Trigger
from phasewalk.phases.choosing import PROBE
from phasewalk.storage.recorded_turn import Call, Effect
from phasewalk.storage.redacting import Redact
from phasewalk.surfaces.replay.script import Script
from phasewalk.surfaces.replay.slow import INTERRUPTED, settled_effect
from phasewalk.surfaces.speech import OnePlace

SLACK = 1.0
"""A result that was used came in time; its row may be this many seconds younger than the limit."""

_RAISED = re.compile(r"(\w+): (.*)\Z", re.DOTALL)
_SPEECHLESS = re.compile(r"<(\w+): (\w+)>\Z")
_ASKED_FOR = re.compile(r"asked for as (\S+)\Z")
_FAILED = "failed: "
_WITHOUT_RESULT = frozenset({"timed_out", "late", "interrupted"})


class RecordedToolError(Exception):
    """What a tool raised then, as it was told."""


@define
class RecordedTools:
    """Implements `Tools`: today's tools say what exists and which arguments are right, the record what came back."""

    script: Script
    tools: Tools
    redact: Redact
    _used: set[str] = field(factory=set)

    def all(self) -> Mapping[str, ToolInfo]:
        """Today's tools."""
        return self.tools.all()

    def problem_with(self, name: str, arguments: str) -> str | None:
        """What today's tool says of these arguments."""
        return self.tools.problem_with(name, arguments)

    async def run(self, name: str, arguments: str, context: ToolContext) -> object:  # noqa: ARG002 - the port's signature
        """What this call came to; the tool itself does not run."""
        script, begun = self.script, self.script.clock.monotonic()
        call = self._recorded(name, arguments)
        if call is None or call.status in ("refused", "not_executed", None):
            self._leave(name, call)
            return None
        effect = settled_effect(script.record, call) if call.status == "interrupted" else None
        if call.status in _WITHOUT_RESULT and effect is None:
            await self._too_late(call)
            return call.result.body if call.result else None
        info = self.all()[name]
        limit = begun + (info.timeout or script.limit("tool", 60.0))
        ended_us = effect.settled_us if effect else call.ended_us
        in_time = script.instant(ended_us) < limit + SLACK
        await script.finished(ended_us, limit if in_time else None)
        return _unheard(effect) if effect else self._result(call)

    def _leave(self, name: str, call: Call | None) -> None:
        """A call that did not run then, was never made, or whose end was not written any more."""
        was = f"no call of {name}"
        if call is not None:
            was = " ".join(filter(None, (name, call.status or "without an end", call.reason)))
        unended = call is not None and call.status is None
        why = f"what {name} would have returned was not recorded"
        self.script.leave("tools", was, f"{name} runs", why, untold=unended)

    def _recorded(self, name: str, arguments: str) -> Call | None:
        """The first call of this round that is the same and was not answered yet."""
        wanted = canonical(self.redact(arguments))
        for call in self.script.record.calls:
            alike = call.name == name and call.arguments.body in (None, arguments, self.redact(arguments))
            if not alike and call.name == name and call.arguments.body is not None:
                alike = canonical(call.arguments.body) == wanted
            if alike and call.round == self.script.stay.visit and call.call_id not in self._used:
                self._used.add(call.call_id)
                return call
        return None

    async def _too_late(self, call: Call) -> None:
        """Do not come back in time; one that did not listen to its cancellation then does not listen now."""
        try:
            await self._waits(call)
        except asyncio.CancelledError:
            if not self._was_stubborn(call):
                raise
            await self._waits(call)

    async def _waits(self, call: Call) -> None:
        if call.status == "late":
            await self.script.until(self.script.instant(call.ended_us))
        else:
            stopped = call.status == "interrupted"
            await self.script.hang("tools", f"{call.name} {call.status}", call.ended_us, stopped=stopped)

    def _was_stubborn(self, call: Call) -> bool:
        """Whether it came late, or those behind it were not begun because it went on although it was given up."""
        behind = (other for other in self.script.record.calls if other.round == call.round)
        kept_out = any(c.status == "not_executed" and c.reason == Reason.TOOL_TIMED_OUT for c in behind)
        return call.status == "late" or (kept_out and call.effect == "mutating")

    def _result(self, call: Call) -> str:
        body = call.result.body if call.result else ""
        if body is None:
            why = f"the result of {call.name} ({call.call_id}) was pruned"
            self.script.leave("tools", "a pruned result", call.name, why, untold=True)
            return ""
        if call.status == "failed":
            raise _raised(body.removeprefix(_FAILED))
        return body


def _unheard(effect: Effect) -> str:
    """What a call came to whose turn was stopped before anybody heard of it: its effect alone is known."""
    if effect.settled == "failed":
        raise _raised(str(effect.detail.get("error")).removeprefix(_FAILED))
    return ""


def _raised(told: str) -> Exception:
    """An exception that is told as this one was."""
    speechless = _SPEECHLESS.match(told)
    if speechless:
        inner = _error(speechless[2])

        def silent(_self: object) -> str:
            raise inner

        return _error(speechless[1], __str__=silent)()
    found = _RAISED.match(told)
    return _error(found[1])(found[2]) if found else RecordedToolError(told)


def _error(name: str, **members: object) -> type[RecordedToolError]:
    return type(name, (RecordedToolError,), members)


@frozen
class RecordedSurface(OnePlace):
    """Implements `Surface`: says nothing to anybody, and returns what became of each speech then."""

    script: Script

    async def look(self, trigger: Trigger) -> Sight:
        """Overtaken where the visit found that out."""
        stay = self.script.stay
        found = stay.reason == Reason.SUPERSEDED or stay.detail.get("superseded") is True
        return Sight.OVERTAKEN if found else await super().look(trigger)

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:  # noqa: ARG002 - the port's signature
        """The recorded receipt."""
        script = self.script
        effect = next((e for e in script.record.effects if e.key == key), None)
        if effect is None:
            said = f"{speech.kind} to {speech.target}"
            script.leave("delivery", "nothing", said, "whether it would have arrived was not recorded")
            raise DeliveryInDoubtError("not recorded")
        await script.finished(effect.settled_us)
        if effect.settled == "failed":
            raise DeliveryError(str(effect.detail.get("error")), Reason(str(effect.detail.get("reason"))))
        if effect.settled is None:
            await self._unsettled(effect)
        return str(effect.detail.get("receipt", ""))

    async def _unsettled(self, effect: Effect) -> None:
        """Nobody knows: the surface said so, or it never came back, or it broke."""
        script = self.script
        if script.stay.left is None:
            script.leave("delivery", "no receipt", "no receipt", "what became of it was not recorded", untold=True)
        if script.stay.event in INTERRUPTED:
            await script.hang("delivery", f"{effect.kind} without a receipt", None)
        if script.stay.event == "crashed":
            raise RecordedToolError(str(script.stay.detail.get("message")))
        raise DeliveryInDoubtError("in doubt, as recorded")


@define
class RecordedCircuits:
    """Implements `Circuits` with what the rows of the candidates say that they had answered."""

    script: Script
    _used: set[int] = field(factory=set)

    async def admit(self, provider: str, turn_id: str, now_us: int, until_us: int) -> CircuitAnswer:  # noqa: ARG002 - the port's signature
        """Open, the one probe, or closed."""
        for step in self.script.record.steps:
            if step.provider != provider or step.stay != self.script.place or step.step in self._used:
                continue
            if step.reason == Reason.CIRCUIT_OPEN:
                self._used.add(step.step)
                values = {name: value for name, value in step.values.items() if name != "time_left"}
                return CircuitAnswer(CircuitState.OPEN, values)
            if step.rule == PROBE:
                self._used.add(step.step)
                return CircuitAnswer(CircuitState.PROBE)
        return CircuitAnswer()


@frozen
class RecordedApprovals:
    """Implements `Approvals`: a call that ran was permitted, one that was refused was asked for under its id."""

    script: Script
    redact: Redact

    async def take(self, call: ApprovalCall) -> bool:
        """Whether the call was permitted then; one that was not made then is not."""
        found = self._recorded(call)
        return found is not None and found.reason != Reason.APPROVAL_NEEDED and found.status != "refused"

    async def ask(self, call: ApprovalCall) -> str:
        """The id under which it was asked for."""
        found = self._recorded(call)
        body = found.result.body if found and found.result else None
        named = _ASKED_FOR.search(body or "")
        return named[1] if named else "not-recorded"

    def _recorded(self, call: ApprovalCall) -> Call | None:
        wanted = canonical(self.redact(call.arguments))
        for made in self.script.record.calls:
            if made.name == call.tool and made.round == self.script.stay.visit:
                body = made.arguments.body
                if body is None or canonical(body) == wanted:
                    return made
        return None


@frozen
class RecordedAdmission:
    """Implements `Admission`: refuses what was refused."""

    script: Script

    async def refusal(self, trigger: Trigger) -> Reason | None:  # noqa: ARG002 - the port's signature
        """The recorded reason."""
        stay = self.script.stay
        return Reason(stay.reason) if stay.event == "admission_refused" and stay.reason else None


@define
class RecordedIds:
    """Implements `Ids`: the turn's own id, and the chance that was drawn then."""

    script: Script
    _effects: int = 0

    def turn_id(self) -> str:
        """The recorded id: keys of effects are made from it."""
        return self.script.record.turn_id

    def token(self) -> str:
        """Any."""
        return "replay"

    def effect_id(self) -> str:
        """Counted."""
        self._effects += 1
        return f"effect-{self._effects}"

    def fraction(self) -> float:
        """What the recorded failure of this visit had drawn."""
        failure = self.script.stay.detail.get("failure")
        return float(failure.get("jitter", 0.0)) if isinstance(failure, dict) else 0.0
