"""An interrupted turn put together again from its rows, as far as settling it needs (TURN-14).

Owns how logged changes become values again, and which rows end what was going on. Decides nothing: the table does.
Invariants: what an effect came to is taken from its own rows alone; what is not in the log is left as it begins.
"""

import re
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, fields_dict, frozen

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.contract import Classification, Contract, ToolSchema
from phasewalk.machine.documents import payload_of
from phasewalk.machine.effects import Effect, EffectKind, EffectState
from phasewalk.machine.exchange import NOT_EXECUTED, UNKNOWN_OUTCOME, Exchange, ToolCall, ToolResult
from phasewalk.machine.fallback import Failure, FailureKind, Progress
from phasewalk.machine.limits import Limits
from phasewalk.machine.outcomes import stop_of
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import AttemptEnded, Record, ToolEnded
from phasewalk.machine.speech import Delivered, Envelope, Plan, Speech
from phasewalk.machine.turn import Stop, Turn
from phasewalk.machine.walk import Interrupted
from phasewalk.machine.words import DELIVER, RECEIVED, RECORD, TOOL_ROUNDS, NoticeCode, Owner
from phasewalk.storage.recorded_trigger import trigger_of
from phasewalk.storage.recorded_turn import Call, RecordedTurn, Stay, Text, recorded_turn
from phasewalk.storage.recorded_turn import Effect as EffectRows

RESULT_LOST = "it was done, but what it returned was lost with the process"
"""What history is told of a call whose effect has a receipt, and whose result was not written any more."""

_SPEECHES = frozenset({EffectKind.ANSWER, EffectKind.STAFF_NOTE, EffectKind.NOTICE, EffectKind.PICTURE})
_NUMBER = re.compile(r"call-(\d+)\Z")


def interrupted_turn(log: sqlite3.Connection, turn_id: str, now_us: int) -> Interrupted:
    """The turn as it stands in the log, in the phase where its rows end; what was going on ends at `now_us`."""
    record = recorded_turn(log, turn_id)
    seq = log.execute("SELECT coalesce(max(seq), 0) FROM phase_event WHERE turn_id = ?", (turn_id,)).fetchone()[0]
    visits: dict[str, int] = {}
    for stay in record.stays:
        visits[stay.phase] = max(visits.get(stay.phase, 0), stay.visit)
    phase = str(record.turn["phase"])
    settled = _Calls(record, now_us)
    turn = _restored(record, phase)
    if phase == TOOL_ROUNDS:
        turn = evolve(turn, exchanges=(*turn.exchanges, settled.exchange()))
    return Interrupted(turn, phase, int(seq) + 1, visits, (*_attempts(record, now_us), *settled.rows()))


def _restored(record: RecordedTurn, phase: str) -> Turn:
    row, stays = record.turn, _since_the_last_claim(record.stays)
    opened_us = int(str(row["started_us"]))
    trigger = trigger_of(record)
    effects = tuple(_effect(rows) for rows in record.effects)
    turn = Turn(
        turn_id=record.turn_id,
        machine=str(row["machine"]),
        trigger=trigger if trigger.sent_us is not None else evolve(trigger, sent_us=opened_us),
        limits=Limits(),
        started=0.0,
        deadline=0.0,
        opened_us=opened_us,
        token=str(row["lease_token"]),
        claims=int(str(row["claims"])),
        contract=_contract(record.contract),
        effects=effects,
        delivered=tuple(_delivered(rows) for rows in record.effects if _reached(rows)),
    )
    for stay in stays:
        turn = turn.changed(_known({**stay.opening, **stay.detail}))
        if stay.phase == DELIVER and stay.left is not None and phase == RECORD:
            reason = Reason(stay.reason) if stay.reason else None
            turn = evolve(turn, stop=stop_of(turn, DELIVER, stay.event, reason))
    if phase == DELIVER:
        turn = evolve(turn, delivery_reason=_why_not(record))
    return evolve(turn, progress=_counted(turn.progress, record))


def _since_the_last_claim(stays: list[Stay]) -> list[Stay]:
    """The visits since the turn began again for the last time: what was found out before was forgotten."""
    again = [place for place, stay in enumerate(stays) if stay.event == "interrupted" and stay.to_phase == RECEIVED]
    return stays[again[-1] + 1 :] if again else stays


def _counted(progress: Progress, record: RecordedTurn) -> Progress:
    """Numbers that were given to rows are given to no others, whatever was written of the visit."""
    numbers = [int(found[1]) for call in record.calls if (found := _NUMBER.match(call.call_id))]
    return evolve(
        progress,
        calls=max([progress.calls, *(attempt.n for attempt in record.attempts)]),
        considered=max([progress.considered, *(step.step for step in record.steps)]),
        tool_calls=max([progress.tool_calls, *numbers]),
    )


# What a phase changed on the turn, read back from its visit.


def _plain(value: object) -> Any:
    """The value with the bodies of its texts; a pruned one is empty."""
    if isinstance(value, Text):
        return value.body or ""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _made(made: type, said: Mapping[str, Any]) -> Any:
    """An attrs class of its document; what today's class does not know is left out."""
    return made(**{name: _frozen(value) for name, value in said.items() if name in fields_dict(made)})


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _speech(said: Mapping[str, Any]) -> Speech:
    speech: Speech = _made(Speech, said)
    return evolve(speech, notice=NoticeCode(speech.notice)) if speech.notice else speech


def _failure(said: Mapping[str, Any]) -> Failure:
    failure: Failure = _made(Failure, said)
    return evolve(failure, kind=FailureKind(failure.kind), reason=Reason(failure.reason))


def _exchange(said: Mapping[str, Any]) -> Exchange:
    return Exchange(
        calls=tuple(_made(ToolCall, call) for call in said.get("calls", ())),
        results=tuple(_result(result) for result in said.get("results", ())),
        said=str(said.get("said", "")),
    )


def _result(said: Mapping[str, Any]) -> ToolResult:
    reason = said.get("reason")
    return ToolResult(_made(ToolCall, said["call"]), said["status"], said["text"], Reason(reason) if reason else None)


_READERS: Mapping[str, Callable[[Any], object]] = {
    "classification": lambda said: _made(Classification, said),
    "progress": lambda said: _made(Progress, said),
    "failure": _failure,
    "first_failure": _failure,
    "missing": tuple,
    "skipped": tuple,
    "flags": tuple,
    "envelope": lambda said: _made(Envelope, {"answer": None, "answer_needed": False, **said}),
    "plan": lambda said: Plan(tuple(_speech(speech) for speech in said.get("speeches", ()))),
    "exchanges": lambda said: tuple(_exchange(one) for one in said),
    "owner": Owner,
    "superseded": bool,
    "delivery_reason": Reason,
    "stop": lambda said: Stop(said["event"], Reason(said["reason"]), said["phase"]),
}


def _known(said: Mapping[str, object]) -> dict[str, object]:
    """The changes of a visit that matter for its settling, as values."""
    return {name: read(_plain(said[name])) for name, read in _READERS.items() if said.get(name) is not None}


def _contract(body: Mapping[str, Any] | None) -> Contract | None:
    if body is None:
        return None
    parts: dict[str, Any] = {
        "limits": _made(Limits, body["limits"]),
        "schemas": tuple(_made(ToolSchema, schema) for schema in body["schemas"]),
        "candidates": tuple(_made(Candidate, candidate) for candidate in body["candidates"]),
    }
    contract: Contract = _made(Contract, {**body, **parts})
    return contract


# Effects, and what was said.


def _effect(rows: EffectRows) -> Effect:
    return Effect(rows.effect_id, EffectKind(rows.kind), rows.key, rows.target, _state(rows), rows.intended_us)


def _state(rows: EffectRows) -> EffectState:
    done = rows.settled == "receipt" or (rows.settled == "resolved" and rows.detail.get("state") == "done")
    if done:
        return EffectState.DONE
    return EffectState.INTENDED if rows.settled is None else EffectState.FAILED


def _reached(rows: EffectRows) -> bool:
    return EffectKind(rows.kind) in _SPEECHES and _state(rows) is EffectState.DONE


def _delivered(rows: EffectRows) -> Delivered:
    said = _plain(rows.intent)
    text, notice = str(said.get("text", said.get("picture", ""))), said.get("notice")
    speech = Speech(rows.kind, rows.target, text, notice=NoticeCode(notice) if notice else None)
    return Delivered(speech, str(_plain(rows.detail).get("receipt", "")))


def _why_not(record: RecordedTurn) -> Reason | None:
    """Why the first part that did not arrive did not."""
    failed = (rows for rows in record.effects if EffectKind(rows.kind) in _SPEECHES and rows.settled == "failed")
    return next((Reason(_plain(rows.detail)["reason"]) for rows in failed if rows.detail.get("reason")), None)


# What was going on when the process ended.


def _attempts(record: RecordedTurn, now_us: int) -> list[Record]:
    """The end of a model call that nobody waits for any more."""
    running = [attempt for attempt in record.attempts if attempt.status == "running"]
    message = "the process ended before the answer came"
    return [AttemptEnded(a.n, "cancelled", Reason.PROCESS_GONE, now_us, message=message) for a in running]


@frozen
class _Calls:
    """The calls of the round that was interrupted, and what is known of each."""

    record: RecordedTurn
    now_us: int

    def rows(self) -> list[Record]:
        """The ends of the calls that have none."""
        ends = ((call, self._end(call)) for call in self.record.calls if call.status is None)
        return [
            ToolEnded(call.call_id, status, reason, self.now_us, payload_of(text))
            for call, (status, reason, text) in ends
        ]

    def exchange(self) -> Exchange:
        """The round as history keeps it: every call paired with what is known of it (TURN-07)."""
        replies = [stay.detail["reply"] for stay in self.record.stays if stay.detail.get("reply")]
        calls = tuple(_made(ToolCall, call) for call in _plain(replies[-1]).get("calls", ())) if replies else ()
        kept = {call.call_id: call for call in self.record.calls}
        return Exchange(calls, tuple(self._result(call, kept.get(call.call_id)) for call in calls))

    def _result(self, call: ToolCall, row: Call | None) -> ToolResult:
        if row is None:
            return ToolResult(call, "not_executed", NOT_EXECUTED, Reason.PROCESS_GONE)
        if row.status is not None:
            text = row.result.body if row.result and row.result.body is not None else ""
            return ToolResult(call, row.status, text, Reason(row.reason) if row.reason else None)
        status, reason, text = self._end(row)
        return ToolResult(call, status, text, reason)

    def _end(self, call: Call) -> tuple[str, Reason | None, str]:
        """What became of a call without an end, by its effect alone: status, reason, text."""
        effect = next((rows for rows in self.record.effects if rows.intent.get("call") == call.call_id), None)
        if effect is None and call.effect == "mutating":
            return "not_executed", Reason.PROCESS_GONE, NOT_EXECUTED
        if effect is None or effect.settled is None:
            return "interrupted", Reason.PROCESS_GONE, UNKNOWN_OUTCOME
        if _state(effect) is EffectState.DONE:
            return "ok", None, RESULT_LOST
        return "failed", Reason.TOOL_FAILED, str(_plain(effect.detail).get("error", "failed"))
