"""What phases hold to although a model, a tool or a provider does not: equal calls, order, sight, probes."""

import asyncio
import time

import attrs
import pytest

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.circuit import CircuitAnswer, CircuitState
from phasewalk.machine.errors import RowRefusedError
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.provider import PictureRequest, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import AttemptEnded, FallbackConsidered, ToolEnded, TurnEnded
from phasewalk.machine.trigger import Attachment
from phasewalk.machine.words import Outcome
from phasewalk.phases.build_prompt import TEXT_CHARS, persona_of, shown_history
from phasewalk.phases.providers.rules import RulesProvider, load_rules
from phasewalk.phases.tools import tool

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran():
    RAN.clear()


@tool(family="notes", effect="mutating")
async def notes_count(amount: int, of: str = "x") -> int:
    """Count."""
    RAN.append(of)
    return amount


@pytest.mark.spec("CON-24")
async def test_equal_arguments_are_equal_however_they_are_written(a_world, reply):
    from phasewalk.machine.exchange import ModelReply, ToolCall

    spellings = ['{"amount":1}', '{"amount": 1}', '{ "amount":1}', '{"amount":1 }', '{"amount" :1}', '\n{"amount":1}']
    script = [ModelReply(None, (ToolCall("", f"p{n}", "notes_count", text),)) for n, text in enumerate(spellings)]
    limits = attrs.evolve(a_world().settings.limits, tool_rounds=9)
    world = a_world(*script, reply.says("Done."), tools=[notes_count], limits=limits)
    await world.turn("note: count", limits)
    assert len(RAN) == 4
    assert [row.reason for row in world.rows(ToolEnded)][-1] is Reason.IDENTICAL_CALLS


@tool(family="notes", effect="mutating", timeout=0.05)
def notes_slow() -> str:
    """Write slowly, whoever gives it up."""
    RAN.append("slow begins")
    time.sleep(0.3)
    RAN.append("slow ends")
    return "written"


@pytest.mark.spec("CON-22", "TURN-08")
async def test_behind_a_mutating_call_that_goes_on_no_other_begins(world_and_reply):
    world, reply = world_and_reply
    turn = await world(
        reply.calls(("notes_slow", {}), ("notes_count", {"amount": 1, "of": "next"})), reply.says("Done.")
    )
    assert RAN == ["slow begins"]
    assert turn == [("call-1", "timed_out"), ("call-2", "not_executed")]


@pytest.fixture
def world_and_reply(a_world, reply):
    """Walks a turn on the real clock, since the tool sleeps for real."""
    from phasewalk.machine.deadlines import SystemClock

    async def walk(*script):
        world = a_world(*script, tools=[notes_slow, notes_count])
        world.clock = SystemClock()
        world.runner = type(world.runner)(world.runner._definition, world.log, world.clock, world.ids, world._ports)
        world.change(limits=attrs.evolve(world.settings.limits, cleanup=0.05))
        await world.start("note: x")
        return [(row.call_id, row.status) for row in world.rows(ToolEnded)]

    return walk, reply


@pytest.mark.spec("LOG-03", "LOG-05", "TURN-04")
async def test_rows_that_cannot_be_stored_end_the_turn_with_a_notice_and_not_in_the_middle(a_world):
    world = a_world()
    world.log.failing = lambda records: (
        RowRefusedError("the log refused a row: odd") if any(type(r) is AttemptEnded for r in records) else None
    )
    turn = await world.turn()
    assert (turn.outcome, turn.reason) == (Outcome.STOPPED, Reason.LOG_WRITE_FAILED)
    assert [speech.notice for speech in world.spoken] == ["all_failed"]
    assert len(world.rows(TurnEnded)) == 1


class OneProbe:
    """A circuit that lets one call pass and is open afterwards."""

    def __init__(self) -> None:
        self.answers = [CircuitAnswer(CircuitState.PROBE)]

    async def admit(self, *_: object) -> CircuitAnswer:
        return self.answers.pop() if self.answers else CircuitAnswer(CircuitState.OPEN, {"open_for": 1800})


@pytest.mark.spec("FB-15")
async def test_behind_a_failed_probe_the_other_models_of_the_provider_are_not_asked(a_world, reply):
    world = a_world(reply.fails(FailureKind.TRANSIENT, Reason.HTTP_5XX), candidates=3)
    world.circuits = OneProbe()
    await world.turn()
    assert [request.model for request in world.provider.requests] == ["m1"]
    considered = [(row.model, row.decision, row.reason) for row in world.rows(FallbackConsidered)]
    assert considered[:3] == [
        ("m1", "taken", Reason.OK),
        ("m2", "skipped", Reason.CIRCUIT_OPEN),
        ("m3", "skipped", Reason.CIRCUIT_OPEN),
    ]


IMAGE = (Attachment("a.png", "https://example.org/a.png", 9, "IMAGE/PNG"),)


def sighted(*flags: bool) -> tuple[Candidate, ...]:
    able = {True: ("tools", "vision", "json_schema"), False: ("tools", "json_schema")}
    return tuple(Candidate("one", "chat", f"m{n}", capabilities=able[sees]) for n, sees in enumerate(flags, 1))


@pytest.mark.spec("ENV-22", "FB-11")
async def test_with_an_image_who_cannot_see_is_passed_over_where_somebody_can(a_world):
    world = a_world()
    world.change(candidates=sighted(False, True))
    await world.turn("hi", attachments=IMAGE)
    assert [request.model for request in world.provider.requests] == ["m2"]
    assert [(r.model, r.decision, r.reason) for r in world.rows(FallbackConsidered)] == [
        ("m1", "skipped", Reason.MISSING_CAPABILITY),
        ("m2", "taken", Reason.OK),
    ]
    assert world.provider.requests[0].prompt.images == ("https://example.org/a.png",)


@pytest.mark.spec("ENV-22")
async def test_where_nobody_can_see_the_words_are_answered(a_world):
    world = a_world()
    world.change(candidates=sighted(False))
    turn = await world.turn("hi", attachments=IMAGE)
    assert turn.outcome is Outcome.ANSWERED


@pytest.mark.spec("ENV-28")
async def test_names_and_texts_are_neutral_and_capped_now_and_in_history(a_world):
    from phasewalk.machine.exchange import HistoryEntry

    world = a_world()
    await world.turn("a\u202eb\x07c\nd" + "x" * 3_000_000)
    user = world.provider.requests[0].prompt.user
    assert len(user) < TEXT_CHARS + 300
    assert '"text":"a b c\\nd' in user
    said = HistoryEntry("user", "t\u202e" + "y" * 90_000, "evil\u202e\n" + "N" * 5000, channel_id="1", entry_id=1)
    (shown,) = shown_history([said], world.settings, "1")
    assert (len(shown.text), len(shown.author)) == (TEXT_CHARS, 80)
    assert "\u202e" not in shown.text + shown.author


@pytest.mark.spec("LOG-10", "ENV-37")
def test_the_persona_holds_the_stickers_that_are_allowed_and_no_secret(a_world):
    settings = attrs.evolve(a_world().settings, persona="key ghp_0123456789abcdefghij", stickers=("wave", "owl"))
    persona = persona_of(settings)
    assert persona.startswith("key [redacted]")
    assert persona.endswith("[sticker: wave], [sticker: owl].")


@pytest.mark.spec("CON-27", "ENV-26")
async def test_a_request_for_a_note_and_a_picture_is_not_answered_by_the_note_alone(a_world, reply):
    script = [
        reply.calls(("notes_count", {"amount": 1})),
        reply.says("Noted."),
        reply.says("Both.", picture="a cat"),
    ]
    world = a_world(*script, tools=[notes_count])
    turn = await world.turn("add a note about milk and generate an image of a cat")
    assert "image generation" in world.provider.requests[2].reminder
    assert [speech.kind for speech in world.spoken] == ["answer", "picture"]
    assert turn.flags == ()


@pytest.mark.spec("ENV-26", "TURN-05", "FB-03")
async def test_a_picture_that_never_comes_leaves_time_for_the_notice(a_world, reply):
    world = a_world(reply.says(None, picture="a fox"))
    hanging: asyncio.Future = asyncio.get_running_loop().create_future()

    async def never(request):
        await hanging

    world.provider.pictures = never
    limits = attrs.evolve(world.settings.limits, turn=20.0, delivery_grace=30.0)
    await world.turn("draw a fox", limits)
    assert [speech.notice for speech in world.spoken] == ["all_failed"]


async def test_rules_that_are_asked_for_a_picture_fail_for_good():
    with pytest.raises(ProviderError, match="rules makes no pictures") as raised:
        await RulesProvider(load_rules(None, None)).pictures(PictureRequest("rules", "embedded", "a fox", 1))
    assert (raised.value.kind, raised.value.reason) == (
        FailureKind.PERMANENT,
        Reason.MISSING_CAPABILITY,
    )
