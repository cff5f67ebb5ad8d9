"""What goes back to a model of the turn's own rounds holds no secret (LOG-10)."""

import json

import pytest

from phasewalk.machine.exchange import Exchange, ToolCall, ToolResult
from phasewalk.machine.redaction import Redactor
from phasewalk.phases.outgoing import without_secrets
from phasewalk.phases.tools import tool

KEY = "ghp_0123456789abcdefghij"
SEALED = f"gAAAA{KEY}=="


def exchange(text: str, *items: dict) -> Exchange:
    call = ToolCall("call-1", "p1", "notes_add", json.dumps({"text": text}))
    return Exchange((call,), (ToolResult(call, "ok", text),), text, tuple(map(json.dumps, items)), "main/m")


@pytest.mark.spec("LOG-10", "BAR-26")
def test_arguments_results_and_what_was_said_go_back_without_secrets():
    (clean,) = without_secrets((exchange(f"it is {KEY}"),), Redactor())
    assert clean == exchange("it is [redacted]")


@pytest.mark.spec("LOG-10")
def test_a_round_without_secrets_is_the_same_object():
    before = exchange("milk", {"type": "reasoning", "encrypted_content": "gAAAA"})
    assert without_secrets((before,), Redactor())[0] is before


@pytest.mark.spec("LOG-10", "ENV-23")
def test_sealed_reasoning_goes_back_as_it_came_and_open_reasoning_without_secrets():
    item = {"type": "reasoning", "id": "rs_1", "summary": [{"text": f"the key {KEY}"}], "encrypted_content": SEALED}
    (clean,) = without_secrets((exchange("x", item),), Redactor())
    assert json.loads(clean.items[0]) == {**item, "summary": [{"text": "the key [redacted]"}]}
    assert list(json.loads(clean.items[0])) == list(item)


KEPT: list[str] = []


@tool(family="notes", effect="mutating")
async def notes_add(text: str) -> str:
    """Add."""
    KEPT.append(text)
    return "kept"


@pytest.mark.spec("LOG-10", "CON-21")
async def test_the_tool_gets_what_the_model_wrote_and_the_next_request_does_not_hold_it(a_world, reply):
    KEPT.clear()
    world = a_world(reply.calls(("notes_add", {"text": KEY})), reply.says("Kept."), tools=[notes_add])
    await world.turn(f"note: {KEY}")
    assert KEPT == [KEY]
    (sent,) = world.provider.requests[1].exchanges
    assert sent.calls[0].arguments == '{"text": "[redacted]"}'
    assert KEY in world.provider.requests[1].prompt.user


@pytest.mark.spec("LOG-10", "ENV-28")
async def test_names_topics_and_news_are_sent_without_secrets(a_world):
    world = a_world(news=lambda: f"news {KEY}")
    await world.turn("hi", user_name=f"u {KEY}", nickname=f"n {KEY}", channel_name=f"c {KEY}", topic=f"t {KEY}")
    prompt = world.provider.requests[0].prompt
    assert KEY not in prompt.user + prompt.context
    assert prompt.user.count("[redacted]") == 4
