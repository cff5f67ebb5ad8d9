"""Phase `tool_rounds`: runs the calls of one reply and hands back one result for each (CON-20..24).

Owns dispatch: what may run, together or one after another, with which limit. A refusal is a result that the
model sees. Invariants: no mutating call without its committed intent (CON-22); calls and results stay paired,
also when the round is stopped (TURN-07).
"""

import asyncio
import hashlib
from collections import Counter

from attrs import define, evolve, field

from phasewalk.machine.contract import Contract
from phasewalk.machine.deadlines import LimitPassedError, in_background, within
from phasewalk.machine.documents import payload_of
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.exchange import (
    NOT_EXECUTED,
    UNKNOWN_OUTCOME,
    Exchange,
    ModelReply,
    ToolCall,
    ToolResult,
    canonical,
    identity,
)
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import EffectSettled, Record, ToolEnded, ToolStarted
from phasewalk.machine.text import ERROR_CHARS, storable
from phasewalk.machine.tooling import ApprovalCall, ToolContext, ToolInfo
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import TOOL_ROUNDS, Kind
from phasewalk.phases.policy import denial
from phasewalk.phases.tools.serialise import LIMIT, as_text, shortened

DENIALS = {
    Reason.POLICY_DENIED: "refused: policy does not allow {name} now",
    Reason.OWNER_ONLY: "refused: only an owner may use {name}",
}
BEHIND = "not executed: an earlier call of this round is still running; ask again when its outcome is known"


async def tool_rounds(turn: Turn, ports: Ports) -> Report:
    """Report `results_ready` with a result for every call of the reply."""
    if turn.contract is None or turn.reply is None:
        raise AssertionError("tool_rounds needs a contract and a reply")
    turn.contract.check()
    work = _Round(turn, turn.contract, ports, turn.reply.calls)
    try:
        await ports.log.write(*work.started_rows())
        await work.run()
    except BaseException as error:
        await ports.log.describe(*work.stopped_rows(crashed=isinstance(error, Exception)))
        ports.keep(**_changes(turn, work))
        raise
    return Report("results_ready", _changes(turn, work), detail=work.summary(), records=())


def _changes(turn: Turn, work: "_Round") -> dict[str, object]:
    reply = turn.reply or ModelReply(None)
    results = tuple(work.results[call.call_id] for call in work.calls)
    exchange = Exchange(work.calls, results, reply.text or "", reply.items, reply.source)
    return {
        "exchanges": (*turn.exchanges, exchange),
        "progress": evolve(turn.progress, rounds=turn.progress.rounds + 1),
        "reminder": "",  # it has been obeyed
    }


@define
class _Round:
    """The calls of one reply on their way to results."""

    turn: Turn
    contract: Contract
    ports: Ports
    calls: tuple[ToolCall, ...]
    results: dict[str, ToolResult] = field(factory=dict)
    begun: set[str] = field(factory=set)
    ended: set[str] = field(factory=set)

    def started_rows(self) -> list[Record]:
        """A row for each call, before any of them runs."""
        return [
            ToolStarted(
                round=self.turn.progress.rounds + 1,
                call_id=call.call_id,
                provider_call_id=storable(call.provider_id),
                name=storable(call.name),
                effect=self._effect_of(call.name),
                arguments=payload_of(call.arguments),
                started_us=self.ports.clock.now_us(),
            )
            for call in self.calls
        ]

    async def run(self) -> None:
        """Refuse what may not run; run read-only calls together and mutating ones one after another."""
        reading, mutating = [], []
        for call in self.calls:
            refused = await self._refusal(call)
            if refused is not None:
                await self._end(call, "refused", *refused)
            elif self.ports.tools.all()[call.name].mutating:
                mutating.append(call)
            else:
                reading.append(call)
        await asyncio.gather(*(self._call(call) for call in reading), self._one_after_another(mutating))

    async def _one_after_another(self, calls: list[ToolCall]) -> None:
        """Mutating calls do not overlap (CON-22): behind one that goes on although it was given up, none begins."""
        for index, call in enumerate(calls):
            await self._call(call)
            if call.call_id not in self.ended:
                for left in calls[index + 1 :]:
                    await self._end(left, "not_executed", Reason.TOOL_TIMED_OUT, BEHIND)
                return

    async def _refusal(self, call: ToolCall) -> tuple[Reason, str] | None:
        """Why this call does not run, with a sentence for the model (CON-20, CON-24)."""
        if call.name not in self.contract.offered:
            return Reason.NOT_IN_CONTRACT, f"refused: the tool {call.name!r} is not available in this turn"
        tool = self.ports.tools.all().get(call.name)
        denied = Reason.POLICY_DENIED if tool is None else denial(tool, self.ports.settings, self.turn.trigger)
        if denied is not None:
            return denied, DENIALS[denied].format(name=repr(call.name))
        if self._repeated(call) > self.contract.limits.identical_calls:
            return (
                Reason.IDENTICAL_CALLS,
                f"refused: {call.name!r} was called with these arguments too often; answer now",
            )
        problem = self.ports.tools.problem_with(call.name, call.arguments)
        if problem is not None:
            return Reason.ARGUMENTS_INVALID, f"refused: {problem}"
        return await self._unapproved(call) if tool is not None and tool.approval else None

    async def _unapproved(self, call: ToolCall) -> tuple[Reason, str] | None:
        """A call that needs a permission uses one up, or is listed as waiting for one (CON-26).

        Asked last, so that no permission is spent on a call that does not run, and none asked for one that cannot.
        """
        trigger = self.turn.trigger
        wanted = ApprovalCall(
            turn_id=self.turn.turn_id,
            tool=call.name,
            arguments=canonical(call.arguments),
            user_id=trigger.user_id,
            user_name=trigger.user_name,
            channel_id=trigger.channel_id,
            now_us=self.ports.clock.now_us(),
        )
        if await self.ports.approvals.take(wanted):
            return None
        name = await self.ports.approvals.ask(wanted)
        return Reason.APPROVAL_NEEDED, f"refused: {call.name!r} needs the approval of staff; asked for as {name}"

    def _repeated(self, call: ToolCall) -> int:
        """How often this very call has been asked for in this turn, this time included."""
        earlier = [c for exchange in self.turn.exchanges for c in exchange.calls]
        here = self.calls[: self.calls.index(call) + 1]
        return Counter(map(identity, (*earlier, *here)))[identity(call)]

    async def _call(self, call: ToolCall) -> None:
        """Run one accepted call up to its limit; whatever happens becomes its result."""
        tool = self.ports.tools.all()[call.name]
        effect = await self._intend(call, tool) if tool.mutating else None
        self.begun.add(call.call_id)
        clock, limits = self.ports.clock, self.contract.limits
        limit = clock.monotonic() + (tool.timeout or limits.tool)  # the turn's own deadline stops the whole phase
        try:
            value = await within(
                self._running(call),
                limit,
                clock,
                cleanup=limits.cleanup,
                on_late=lambda task: in_background(self._late(call, effect, task)),
            )
        except LimitPassedError:
            await self._end(call, "timed_out", Reason.TOOL_TIMED_OUT, "timed out: outcome unknown")
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is its result (CON-23)
            text = f"failed: {self._safe(error, ERROR_CHARS)}"
            if effect is not None:
                await self.ports.effects.failed(effect, {"call": call.call_id, "error": text})
            await self._end(call, "failed", Reason.TOOL_FAILED, text)
        else:
            if effect is not None:
                await self.ports.effects.done(effect, {"call": call.call_id})
            await self._end(call, "ok", None, self._safe(value))

    async def _running(self, call: ToolCall) -> object:
        try:
            return await self.ports.tools.run(call.name, call.arguments, self._context())
        finally:
            self.ended.add(call.call_id)

    def _safe(self, value: object, limit: int = LIMIT) -> str:
        """What a tool returned or raised, as the model and history get it: text, without secrets, capped (CON-23).

        Secrets go before the cut, of which only its middle is lost, so that none is cut in two and missed.
        """
        return shortened(self.ports.settings.redact(as_text(value, 4 * limit)), limit)

    async def _intend(self, call: ToolCall, tool: ToolInfo) -> str:
        kind = EffectKind.VISIBLE_TEXT if tool.speaks else EffectKind.TOOL
        key = _key(self.turn.turn_id, call.call_id)
        return await self.ports.effects.intend(
            kind, key, call.name, {"call": call.call_id, "arguments": call.arguments}
        )

    async def _end(self, call: ToolCall, status: str, reason: Reason | None, text: str) -> None:
        """Keep the result, then commit its row; a stop in between finds the result kept."""
        self.results[call.call_id] = ToolResult(call, status, text, reason)
        now_us = self.ports.clock.now_us()
        await self.ports.log.describe(ToolEnded(call.call_id, status, reason, now_us, payload_of(text)))

    async def _late(self, call: ToolCall, effect: str | None, task: "asyncio.Task[object]") -> None:
        """A tool that ended after it was given up: logged as late, used for nothing (TURN-08)."""
        now_us = self.ports.clock.now_us()
        error = task.exception()
        text = self._safe(error, ERROR_CHARS) if error is not None else self._safe(task.result())
        rows: list[Record] = [ToolEnded(call.call_id, "late", Reason.TOOL_TIMED_OUT, now_us, payload_of(text))]
        if effect is not None:
            rows.append(EffectSettled(effect, "receipt", now_us, '{"late":true}'))
        await self.ports.log.afterwards(*rows)

    def stopped_rows(self, *, crashed: bool) -> list[Record]:
        """Pair what has no result yet: begun calls are interrupted, the others were not executed (TURN-07)."""
        rows: list[Record] = []
        now_us = self.ports.clock.now_us()
        expired = self.ports.clock.monotonic() >= self.turn.deadline
        stopped = Reason.DEADLINE_PASSED if expired else Reason.CANCELLED
        reason = Reason.INTERNAL_ERROR if crashed else stopped
        for call in self.calls:
            if call.call_id in self.results:
                continue
            status, text = (
                ("interrupted", UNKNOWN_OUTCOME) if call.call_id in self.begun else ("not_executed", NOT_EXECUTED)
            )
            self.results[call.call_id] = ToolResult(call, status, text, reason)
            rows.append(ToolEnded(call.call_id, status, reason, now_us, payload_of(text)))
        return rows

    def summary(self) -> dict[str, object]:
        """What became of the calls, for the log."""
        return {"calls": {call.call_id: f"{call.name}: {self.results[call.call_id].status}" for call in self.calls}}

    def _effect_of(self, name: str) -> str:
        tool = self.ports.tools.all().get(name)
        return "mutating" if tool is None or tool.mutating else "read_only"

    def _context(self) -> ToolContext:
        trigger = self.turn.trigger
        in_chat = trigger.kind is Kind.USER
        return ToolContext(
            turn_id=self.turn.turn_id,
            user_id=trigger.user_id,
            user_name=trigger.user_name,
            channel_id=trigger.channel_id if in_chat else "",
            channel_name=trigger.channel_name if in_chat else "",
            guild_id=trigger.guild_id if in_chat else "",
            now_us=self.ports.clock.now_us(),
            kept_in=trigger.channel_id,
        )


def _key(turn_id: str, call_id: str) -> str:
    """The idempotency key of a call."""
    return hashlib.blake2b(f"{turn_id}/{call_id}".encode(), digest_size=12).hexdigest()


PHASE = Phase(TOOL_ROUNDS, tool_rounds, {"results_ready"}, {"exchanges", "progress", "reminder"})
