"""A turn that was stopped while a commit was on its way is stopped there again (`phasewalk replay`)."""

import pytest
from replaying import COUNT, LOOK, TOOLS, is_same
from slow_commits import SlowCommit

from phasewalk.machine.errors import DeliveryError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import (
    AttemptEnded,
    AttemptStarted,
    EffectIntended,
    EffectSettled,
    PhaseEntered,
    ToolEnded,
    ToolStarted,
)
from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, tool_calls
from phasewalk.surfaces.speech import LogSurface

MORE = """
@tool(family="notes", effect="mutating")
async def notes_spoil() -> str:
    "Fail."
    raise RuntimeError("it broke")

@tool(family="notes", effect="mutating", speaks=True)
async def notes_shout() -> str:
    "Say it."
    return "said"
"""
STOPS = ["deadline_passed", "shutting_down"]
BEYOND_DEADLINE, BEYOND_GRACE = 31.0, 62.0


def calls(*names: str):
    return tool_calls([(f"c{n}", f"notes_{name}" if name != "shell" else name, {}) for n, name in enumerate(names)])


def ended(number: int, status: str):
    return lambda record: (
        isinstance(record, ToolEnded) and (record.call_id, record.status) == (f"call-{number}", status)
    )


def entered(phase: str):
    return lambda record: isinstance(record, PhaseEntered) and record.phase == phase


def a(kind: type):
    return lambda record: isinstance(record, kind)


def settled(kind: str):
    return lambda record: isinstance(record, EffectSettled) and record.kind == kind


class DeafSurface(LogSurface):
    """Nothing arrives."""

    async def send(self, speech, trigger, key):
        raise DeliveryError("nobody is there", Reason.DELIVERY_FAILED)


NOT = "not_executed"
ROUNDS = {
    "the calls of a round": (calls("look", "count"), a(ToolStarted), [NOT, NOT]),
    "a refusal": (calls("shell", "look", "count"), ended(1, "refused"), ["refused", NOT, NOT]),
    "a refusal between others": (calls("look", "shell", "count"), ended(2, "refused"), [NOT, "refused", NOT]),
    "the only refusal": (calls("shell"), ended(1, "refused"), ["refused"]),
    "the end of a mutating call": (calls("count", "count", "count"), ended(2, "ok"), ["ok", "ok", NOT]),
    "the end of a failed one": (calls("spoil", "count"), ended(1, "failed"), ["failed", NOT]),
    "the end of one that was given up": (calls("stubborn", "count"), ended(1, "timed_out"), ["late", NOT]),
    "the end of one beside one at work": (
        calls("slow", "count", "count"),
        ended(2, "ok"),
        ["interrupted", "ok", NOT],
    ),
    "the end of the only call": (LOOK, ended(1, "ok"), ["ok"]),
    "the end of the last call": (calls("look", "count", "count"), ended(3, "ok"), ["ok", "ok", "ok"]),
    "an intent": (calls("count", "count"), a(EffectIntended), [NOT, NOT]),
    "an intent beside one at work": (calls("slow", "count"), a(EffectIntended), ["interrupted", NOT]),
    "a receipt": (calls("count", "count"), settled("receipt"), ["interrupted", NOT]),
    "the receipt of the only call": (COUNT, settled("receipt"), ["interrupted"]),
    "the receipt of one that failed": (calls("spoil", "count"), settled("failed"), ["interrupted", NOT]),
}


@pytest.mark.spec("OPS-13", "TURN-07", "CON-22")
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("case", ROUNDS.values(), ids=ROUNDS.keys())
async def test_a_tool_round_that_was_stopped_during_a_commit_begins_nothing_more_again(place, monkeypatch, case, stop):
    asked, is_slow, statuses = case
    await stopped(place, monkeypatch, "note: x", [asked, envelope("Never.")], is_slow, stop, BEYOND_DEADLINE)
    assert place.workplace.rows("SELECT reason, reason_phase FROM turn") == [(stop, "tool_rounds")]
    assert [status for (status,) in place.workplace.rows("SELECT status FROM tool_call ORDER BY call_id")] == statuses
    ran = place.ran()
    assert all(map(is_same, place.all()))
    assert place.ran() == ran


VISITS = {
    "the beginning of a model call": ([envelope("Hi.")], a(AttemptStarted), BEYOND_DEADLINE, "model_attempt"),
    "the entry of a model call": ([envelope("Hi.")], entered("model_attempt"), BEYOND_DEADLINE, "model_attempt"),
    "the end of a model call": ([envelope("Hi.")], a(AttemptEnded), BEYOND_DEADLINE, "validate_envelope"),
    "the entry of a tool round": ([COUNT], entered("tool_rounds"), BEYOND_DEADLINE, "tool_rounds"),
    "the entry of delivery": ([envelope("Hi.")], entered("deliver"), BEYOND_GRACE, "deliver"),
    "the entry of delivery behind a tool that speaks": (
        [calls("shout"), envelope("Hi.")],
        entered("deliver"),
        BEYOND_GRACE,
        "deliver",
    ),
    "the intent of a speech": ([envelope("Hi.")], a(EffectIntended), BEYOND_GRACE, "deliver"),
    "the receipt of a speech": ([envelope("Hi.")], settled("receipt"), BEYOND_GRACE, "deliver"),
    "the receipt of the first of two": ([envelope("Hi.", staff="Look.")], settled("receipt"), BEYOND_GRACE, "deliver"),
}


@pytest.mark.spec("OPS-13", "TURN-06", "TURN-07")
@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("case", VISITS.values(), ids=VISITS.keys())
async def test_another_visit_that_was_stopped_during_a_commit_is_stopped_there_again(place, monkeypatch, case, stop):
    steps, is_slow, seconds, phase = case
    place.extra += '[bot]\nstaff-channel = "staff"\n'
    await stopped(place, monkeypatch, "note: x", steps, is_slow, stop, seconds)
    event = "deadline_passed" if stop == "deadline_passed" else "cancelled"
    ends = place.workplace.rows("SELECT phase FROM phase_event WHERE kind = 'exit' AND event = ?", event)
    assert ends[0] == (phase,)
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "TURN-07")
@pytest.mark.parametrize("stop", STOPS)
async def test_a_delivery_that_was_stopped_while_its_failure_was_written_is_stopped_there_again(
    place, monkeypatch, stop
):
    place.extra += '[bot]\nstaff-channel = "staff"\n'
    steps = [envelope("Hi.", staff="Look.")]
    await stopped(place, monkeypatch, "hi", steps, settled("failed"), stop, BEYOND_GRACE, DeafSurface())
    assert place.workplace.rows("SELECT count(*) FROM effect") == [(1,)]
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "TURN-16")
async def test_a_cancellation_before_the_deadline_is_one_though_its_commit_was_over_behind_it(place, monkeypatch):
    slow = SlowCommit(place, monkeypatch, a(ToolStarted), "shutting_down", BEYOND_DEADLINE)
    cancel = slow._stop

    def both(turn_id: str) -> None:
        cancel(turn_id)
        slow.clock.leap(BEYOND_DEADLINE)

    monkeypatch.setattr(slow, "_stop", both)
    async with ScriptedModelServer([LOOK]) as server:
        await slow.walk("note: x", server.base_url, LogSurface())
    assert place.workplace.rows("SELECT reason FROM tool_call") == [("deadline_passed",)]
    assert place.outcomes() == [("cancelled", "shutting_down")]
    assert all(map(is_same, place.all()))


async def stopped(  # noqa: PLR0917 - what a case consists of
    place, monkeypatch, text, steps, is_slow, stop, seconds, surface=None
) -> None:
    """Walk this turn, stopped during that commit."""
    place.workplace.tools(TOOLS + MORE)
    slow = SlowCommit(place, monkeypatch, is_slow, stop, seconds)
    async with ScriptedModelServer(steps, repeat_last=True) as server:
        await slow.walk(text, server.base_url, surface or LogSurface())
