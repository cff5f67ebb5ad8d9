"""What was decided in one visit, by section, in the order in which it was decided.

Owns which parts of the log are decisions: texts of errors, times and numbers drawn by chance are none. Pure.
Invariant: the record and the walk are read by the same code, so that equal values are equal decisions.
"""

from collections.abc import Callable
from typing import Any

from phasewalk.storage.recorded_turn import Effect, RecordedTurn, Stay, Text

Sections = dict[str, object]
_TIMES = frozenset({"time_left", "open_for", "until_us", "opened_us"})
_STATES = {"receipt": "done", "failed": "failed", "resolved": "resolved"}
_CONTRACT = (
    "selection", "families", "required", "offered", "executable", "channels", "staff_channel", "capabilities",
    "asks_back", "stickers", "limits",
)  # fmt: skip


def sections(record: RecordedTurn, place: int) -> Sections:
    """The decisions of a visit; equal where the same was decided."""
    stay = record.stays[place]
    made = _BY_PHASE.get(stay.phase)
    return {**(made(record, place, stay) if made else {}), **_end_of(record, place, stay)}


def end_of(record: RecordedTurn) -> Sections:
    """How the turn ended."""
    names = ("outcome", "reason", "reason_phase", "first_reason", "owner", "notice_code", "flags")
    return {name: record.turn[name] for name in names}


def plain(value: object) -> Any:
    """A value with the bodies of its texts, as it is shown."""
    if isinstance(value, Text):
        return f"(a pruned text, {value.digest})" if value.body is None else value.body
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


def _end_of(record: RecordedTurn, place: int, stay: Stay) -> Sections:
    if stay.left is None:
        return {}
    stop = [_step(step) for step in record.steps if step.stay == place and step.decision in ("refused", "exhausted")]
    said = f"{stay.event} ({stay.reason})" if stay.reason else stay.event
    return {"event": said, "fallback": stop, "transition": f"{stay.transition} to {stay.to_phase}"}


def guards_of(stay: Stay) -> list[str]:
    """What the guards on the way out of a visit answered, with what they compared."""
    return [
        f"{g['transition']}.{g['name']} {'held' if g['held'] else 'did not hold'} {_values(g['values'])}".rstrip()
        for g in stay.guards
    ]


def _values(values: dict[str, Any]) -> str:
    """What was compared, in parentheses; nothing where nothing was."""
    said = ", ".join(f"{name} {plain(value)}" for name, value in values.items())
    return f"({said})" if said else ""


def _classify(_record: RecordedTurn, _place: int, stay: Stay) -> Sections:
    found = stay.detail.get("classification") or {}
    names = {"families": [], "selection": "", "warm": [], "tools": [], "referred": False}
    return {name: plain(found.get(name, nothing)) for name, nothing in names.items()}


def _freeze_contract(record: RecordedTurn, _place: int, stay: Stay) -> Sections:
    if stay.event != "contract_frozen" or record.contract is None:
        return {"missing": plain(stay.detail.get("missing", []))}
    contract = record.contract
    named = {f"{c['provider']}/{c['model']}": c for c in contract["candidates"]}
    parts: Sections = {"candidates": list(named)}
    parts |= {name: contract.get(name) for name in _CONTRACT}
    parts |= {f"candidate {name}": candidate for name, candidate in named.items()}
    parts |= {f"tool {schema['name']}": schema for schema in contract["schemas"]}
    return {**parts, "contract": record.turn["contract_hash"]}


def _build_prompt(_record: RecordedTurn, _place: int, stay: Stay) -> Sections:
    prompt = stay.detail.get("prompt") or {}
    return {name: prompt.get(name) for name in ("persona", "context", "user", "history")}


def _model_attempt(record: RecordedTurn, place: int, stay: Stay) -> Sections:
    attempt = next((a for a in record.attempts if a.stay == place), None)
    chosen = [_step(step) for step in record.steps if step.stay == place and step.decision in ("taken", "skipped")]
    found: Sections = {"tools offered": plain(stay.opening.get("tools_offered", [])), "considered": chosen}
    if attempt is not None:
        found["model call"] = f"{attempt.cause} {attempt.provider}/{attempt.model} by {attempt.api}"
        found["request"] = attempt.request
    failure = stay.detail.get("failure")
    if stay.event == "attempt_failed" and isinstance(failure, dict):
        found["failure"] = {name: failure.get(name) for name in ("kind", "reason", "http_status")}
    reply = stay.detail.get("reply") or {}
    found["calls"] = [f"{call['name']} {plain(call['arguments'])}" for call in reply.get("calls", [])]
    return found


def _tool_rounds(record: RecordedTurn, _place: int, stay: Stay) -> Sections:
    """What became of each call; one that came back after it was given up was given up all the same."""
    calls = [call for call in record.calls if call.round == stay.visit]
    ends = [(call, "timed_out" if call.status == "late" else call.status or "not ended") for call in calls]
    return {"tools": [f"{c.name} ({c.effect}) {end}{f' {c.reason}' if c.reason else ''}" for c, end in ends]}


def _validate_envelope(_record: RecordedTurn, _place: int, stay: Stay) -> Sections:
    plan = stay.detail.get("plan") or {}
    failure = stay.detail.get("failure")
    found: Sections = {
        "envelope": stay.detail.get("envelope"),
        "plan": [_speech(speech) for speech in plan.get("speeches", [])],
        "flags": plain(stay.detail.get("flags", [])),
    }
    if stay.event == "envelope_rejected" and isinstance(failure, dict):
        found["failure"] = {name: failure.get(name) for name in ("kind", "reason")}
    return found


def _deliver(record: RecordedTurn, _place: int, stay: Stay) -> Sections:
    return {"delivery": [_delivered(effect) for effect in record.spoken], "flags": plain(stay.detail.get("flags", []))}


def _speech(speech: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in speech.items() if name != "reply_to"}


def _delivered(effect: Effect) -> dict[str, Any]:
    reason = effect.detail.get("reason")
    state = _STATES.get(effect.settled or "", "no receipt") + (f" {reason}" if reason else "")
    return {"kind": effect.kind, "to": effect.target, "state": state, **effect.intent}


def _step(step: Any) -> str:
    values = {name: value for name, value in step.values.items() if name not in _TIMES}
    return f"{step.provider}/{step.model} {step.decision} {step.reason} by {step.rule} {_values(values)}".rstrip()


_BY_PHASE: dict[str, Callable[[RecordedTurn, int, Stay], Sections]] = {
    "classify": _classify,
    "freeze_contract": _freeze_contract,
    "build_prompt": _build_prompt,
    "model_attempt": _model_attempt,
    "tool_rounds": _tool_rounds,
    "validate_envelope": _validate_envelope,
    "deliver": _deliver,
}
