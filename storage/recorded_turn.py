"""Everything that the log holds of one turn, as it is walked again and compared: rows as values, in their order.

Owns which rows belong to which visit. Judges nothing, and knows no table of today. Invariant: a text whose body was
pruned keeps its digest, so that it can still be compared, and says that it is not there.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from phasewalk.machine.documents import digest_of
from phasewalk.storage.queries import Row, rows
from phasewalk.storage.turn_document import text_of

WITHOUT_CALL = frozenset({"no_candidate"})
"""Ends of `model_attempt` that made no call."""

CALLED = frozenset({"output_received", "tools_requested", "attempt_failed"})
"""Ends of `model_attempt` that made one."""

OF_TOOLS = frozenset({"tool", "visible_text"})
"""Kinds of effects that tools have."""


class Text(NamedTuple):
    """A text by its content. `body` None: it was pruned."""

    digest: str
    body: str | None

    @property
    def altered(self) -> bool:
        """Whether a secret was taken out of it, or an erased person's words, when it was written."""
        return self.body is not None and digest_of(self.body) != self.digest


class Moment(NamedTuple):
    """An instant on both clocks: microseconds since the epoch, monotonic seconds."""

    at_us: int
    mono: float


class Stay(NamedTuple):
    """One visit of a phase. `left` None: the record ends in it. `opening` and `detail` as they were logged."""

    phase: str
    visit: int
    begun: Moment
    left: Moment | None
    budget_ms: int | None
    event: str
    reason: str | None
    transition: str
    to_phase: str
    guards: list[dict[str, Any]]
    opening: dict[str, Any]
    detail: dict[str, Any]


class Attempt(NamedTuple):
    """A model call, and in which visit (by its place) it was made."""

    n: int
    cause: str
    provider: str
    model: str
    api: str
    status: str
    reason: str | None
    http_status: int | None
    request_id: str | None
    message: str | None
    started_us: int
    ended_us: int | None
    request: str | None
    response: Text | None
    stay: int


class Call(NamedTuple):
    """A tool call."""

    round: int
    call_id: str
    name: str
    effect: str
    arguments: Text
    status: str | None
    reason: str | None
    started_us: int
    ended_us: int | None
    result: Text | None


class Effect(NamedTuple):
    """An effect; `settled` is `receipt`, `failed`, `resolved` or None."""

    key: str
    kind: str
    target: str
    settled: str | None
    settled_us: int | None
    intent: Any
    detail: dict[str, Any]
    effect_id: str
    intended_us: int


class Step(NamedTuple):
    """A candidate that was considered, and in which visit."""

    step: int
    provider: str
    model: str
    decision: str
    reason: str
    rule: str
    values: dict[str, Any]
    stay: int


class RecordedTurn(NamedTuple):
    """A turn as it stands in the log; `turn` holds its columns, `contract` the frozen one."""

    turn: Row
    question: Text
    stays: list[Stay]
    attempts: list[Attempt]
    calls: list[Call]
    effects: list[Effect]
    steps: list[Step]
    contract: dict[str, Any] | None

    @property
    def turn_id(self) -> str:
        """Its id."""
        return str(self.turn["turn_id"])

    @property
    def begun(self) -> Moment:
        """When the turn was opened: what its deadline counts from."""
        first, started_us = self.stays[0].begun, int(str(self.turn["started_us"]))
        return Moment(started_us, first.mono - (first.at_us - started_us) / 1e6)

    @property
    def seconds(self) -> float:
        """The turn's budget."""
        return (int(str(self.turn["deadline_us"])) - int(str(self.turn["started_us"]))) / 1e6

    @property
    def spoken(self) -> list[Effect]:
        """The effects of delivery, in the order of their intents; what tools did or said is none."""
        return [effect for effect in self.effects if effect.kind not in OF_TOOLS]

    @property
    def prompt(self) -> dict[str, Any]:
        """The last prompt that was built; nothing where none was."""
        built = [stay.detail.get("prompt") for stay in self.stays if stay.phase == "build_prompt"]
        return next((prompt for prompt in reversed(built) if isinstance(prompt, dict)), {})


def recorded_turn(log: sqlite3.Connection, turn_id: str) -> RecordedTurn:
    """What the log holds of a turn that is in it."""
    turn = rows(log, "SELECT * FROM turn WHERE turn_id = ?", (turn_id,))[0]
    stays = list(_stays(log, turn_id))
    return RecordedTurn(
        turn=turn,
        question=_text(log, turn["text_digest"]) or Text(digest_of(""), ""),
        stays=stays,
        attempts=list(_attempts(log, turn_id, stays)),
        calls=list(_calls(log, turn_id)),
        effects=list(_effects(log, turn_id)),
        steps=list(_steps(log, turn_id, stays)),
        contract=_contract(log, turn["contract_hash"]),
    )


def resolved(log: sqlite3.Connection, value: object) -> object:
    """A logged detail with a `Text` in the place of each payload that it refers to."""
    if isinstance(value, dict):
        if value.keys() == {"payload"}:
            return _text(log, value["payload"])
        return {key: resolved(log, part) for key, part in value.items()}
    return [resolved(log, part) for part in value] if isinstance(value, list) else value


def _text(log: sqlite3.Connection, digest: object) -> Text | None:
    return None if digest is None else Text(str(digest), text_of(log, str(digest)))


def _detail(log: sqlite3.Connection, text: str | None) -> Any:
    return resolved(log, json.loads(text)) if text else {}


def _contract(log: sqlite3.Connection, digest: object) -> dict[str, Any] | None:
    row = log.execute("SELECT body FROM contract WHERE hash = ?", (digest,)).fetchone()
    return None if row is None else json.loads(row[0])


_EVENTS = (
    "SELECT phase, visit, kind, at_us, mono_ns, budget_ms, event, transition, to_phase, guards, reason, detail"
    " FROM phase_event WHERE turn_id = ? AND phase <> 'done' ORDER BY seq"
)


def _stays(log: sqlite3.Connection, turn_id: str) -> Iterator[Stay]:
    """The visits in order; one whose entry was lost begins when it ended."""
    begun: Stay | None = None
    for phase, visit, kind, at_us, mono_ns, budget, event, transition, to, guards, reason, detail in log.execute(
        _EVENTS, (turn_id,)
    ):
        now, said = Moment(at_us, mono_ns / 1e9), _detail(log, detail)
        if kind == "enter":
            if begun is not None:
                yield begun
            begun = Stay(phase, visit, now, None, budget, "", None, "", "", [], said, {})
            continue
        if begun is None or (begun.phase, begun.visit) != (phase, visit):
            begun = Stay(phase, visit, now, None, None, "", None, "", "", [], {}, {})
        asked = json.loads(guards) if guards else []
        yield begun._replace(
            left=now, event=event, reason=reason, transition=transition, to_phase=to, guards=asked, detail=said
        )
        begun = None
    if begun is not None:
        yield begun


_ATTEMPTS = (
    "SELECT n, cause, provider, model, api, status, reason, http_status, request_id, message,"
    " started_us, ended_us, request_digest, response_digest FROM attempt WHERE turn_id = ? ORDER BY n"
)


def _attempts(log: sqlite3.Connection, turn_id: str, stays: list[Stay]) -> Iterator[Attempt]:
    """The model calls; the last visit without a known call made the one that is left over."""
    found = log.execute(_ATTEMPTS, (turn_id,)).fetchall()
    visits = [n for n, stay in enumerate(stays) if stay.phase == "model_attempt" and stay.event not in WITHOUT_CALL]
    sure = [n for n in visits if stays[n].event in CALLED]
    unsure = [n for n in visits if stays[n].event not in CALLED]
    places = sorted([*sure, *unsure[: max(len(found) - len(sure), 0)]])
    for (*row, digest), place in zip(found, places, strict=False):
        yield Attempt._make([*row, _text(log, digest), place])


_CALLS = (
    "SELECT round, call_id, name, effect, arguments_digest, status, reason, started_us, ended_us, result_digest"
    " FROM tool_call WHERE turn_id = ? ORDER BY round, length(call_id), call_id"
)


def _calls(log: sqlite3.Connection, turn_id: str) -> Iterator[Call]:
    for number, call_id, name, effect, arguments, status, reason, started, ended, result in log.execute(
        _CALLS, (turn_id,)
    ).fetchall():
        given = _text(log, arguments) or Text("", None)
        yield Call(number, call_id, name, effect, given, status, reason, started, ended, _text(log, result))


_EFFECTS = (
    "SELECT f.effect_id, f.idempotency_key, f.kind, f.target, e.kind, e.at_us, e.detail FROM effect AS f"
    " JOIN effect_event AS e ON e.effect_id = f.effect_id WHERE f.turn_id = ? ORDER BY e.effect_event_id"
)


def _effects(log: sqlite3.Connection, turn_id: str) -> Iterator[Effect]:
    """The effects in the order of their intents, each with what settled it last."""
    found: dict[str, Effect] = {}
    for effect_id, key, kind, target, event, at_us, detail in log.execute(_EFFECTS, (turn_id,)).fetchall():
        said = _detail(log, detail)
        if event == "intent" or key not in found:
            found[key] = Effect(key, kind, target, None, None, said, {}, effect_id, at_us)
        else:
            found[key] = found[key]._replace(settled=event, settled_us=at_us, detail=said)
    yield from found.values()


_STEPS = (
    'SELECT step, provider, model, decision, reason, rule, "values", at_us FROM fallback_step WHERE turn_id = ?'
    " ORDER BY step"
)


def _steps(log: sqlite3.Connection, turn_id: str, stays: list[Stay]) -> Iterator[Step]:
    """The candidates considered, each in the first visit that had not ended before it."""
    places = _asking(stays)
    place = next(places, 0)
    for *row, values, at_us in log.execute(_STEPS, (turn_id,)).fetchall():
        while (left := stays[place].left) is not None and left.at_us < at_us:
            following = next(places, None)
            if following is None:
                break
            place = following
        step, provider, model, decision, reason, rule = row
        yield Step(step, provider, model, decision, reason, rule, json.loads(values), place)


def _asking(stays: Iterable[Stay]) -> Iterator[int]:
    return (n for n, stay in enumerate(stays) if stay.phase in ("model_attempt", "validate_envelope"))
