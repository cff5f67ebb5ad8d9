"""After a tool that changed something: nothing else is asked, nothing runs twice; on both APIs (case 5)."""

import json
from contextlib import asynccontextmanager

import pytest

from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.providers.testing import (
    ScriptedModelServer,
    envelope,
    raw,
    refusal,
    reset,
    reset_mid_body,
    status,
    tool_calls,
)
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.speech import LogSurface
from phasewalk.surfaces.wiring import application

APIS = ("chat", "responses")
TOOLS = """
from pathlib import Path

HERE = Path(__file__).parent

class Unspeakable:
    def __str__(self):
        raise RuntimeError("no text")
    __repr__ = __str__

@tool(family="notes", effect="mutating")
async def notes_count(amount: int = 1) -> dict:
    "Count up."
    with (HERE / "count.txt").open("a") as file:
        file.write("x")
    return {"counted": amount}

@tool(family="notes", effect="mutating")
async def notes_odd() -> object:
    "Return what has no text."
    with (HERE / "count.txt").open("a") as file:
        file.write("x")
    return {"when": {1, 2}, "what": Unspeakable()}

@tool(family="notes", effect="read_only")
async def notes_look() -> dict:
    "Look."
    return {"count": 7}
"""
EMPTY = {"chat": '{"id": "x", "object": "chat.completion", "choices": []}', "responses": '{"id": "x", "status": "completed", "output": []}'}  # fmt: skip
FAILURES = {
    "no choices": lambda api: raw(200, EMPTY[api]),
    "500": lambda api: status(500),
    "reset": lambda api: reset(),
    "reset mid-body": lambda api: reset_mid_body(),
    "cut-off JSON": lambda api: raw(200, '{"id": "x", "choices": [{"mess'),
    "refusal": lambda api: refusal("I will not."),
    "fenced": lambda api: envelope(text='```json\n{"answer": "x"}\n```'),
    "cut-off answer": lambda api: envelope("half", finish_reason="length"),
    "rate limit": lambda api: status(429),
    "client error": lambda api: status(404),
}
BOTH = pytest.mark.parametrize("api", APIS)
EACH = pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES.keys())


@asynccontextmanager
async def running(workplace, api: str, *urls: str, attempts: int = 3):
    """The application in this process, with providers `one`, `two`, ... of this api."""
    workplace.tools(TOOLS)
    providers = "".join(
        f'[[providers]]\nname = "{name}"\napi = "{api}"\nbase-url = "{url}"\nmodel = "m-{name}"\napi-key-env = ""\n'
        for name, url in zip(("one", "two"), urls, strict=False)
    )
    limits = f"[limits]\nbackoff = 0.001\npost-effect-delays = [0.001, 0.002]\nattempts = {attempts}\n"
    workplace.configure(f'{providers}[tools]\nmodules = ["my_tools"]\n{limits}[circuit]\nfailures = 99\n')
    configuration = load_configuration(workplace.folder / "phasewalk.toml")
    async with application(configuration, workplace.database, LogSurface(), "test") as app:

        async def turn(text: str, number: int = 1):
            trigger = Trigger(
                key=f"t:{number}", kind=Kind.USER, text=text, channel_id="1", channel_name="general", user_id="7",
                user_name="mira", addressed=Addressed.DIRECT,
            )  # fmt: skip
            return (await app.run(trigger)).turn

        yield turn


def ran(workplace) -> int:
    file = workplace.folder / "count.txt"
    return len(file.read_text()) if file.exists() else 0


def paired(body: dict, api: str) -> tuple[list[str], list[str]]:
    """The ids of calls and of results in a request."""
    if api == "responses":
        items = body["input"]
        return (
            [i["call_id"] for i in items if i.get("type") == "function_call"],
            [i["call_id"] for i in items if i.get("type") == "function_call_output"],
        )
    calls = [c["id"] for m in body["messages"] for c in m.get("tool_calls", [])]
    return calls, [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]


@pytest.mark.spec("FB-01", "FB-02", "FB-03", "FB-13", "FB-14", "CON-22", "ENV-11", "ENV-22")
@BOTH
@EACH
async def test_the_tool_ran_once_nobody_else_is_asked_and_one_partial_notice_is_given(workplace, api, failure):
    after = [envelope("later")]
    bad = [failure(api)] * 3
    script = [tool_calls([("a", "notes_count", {})]), *bad]
    async with (
        ScriptedModelServer(script, repeat_last=True) as first,
        ScriptedModelServer(after, repeat_last=True) as second,
        running(workplace, api, first.base_url, second.base_url) as turn,
    ):
        ended = await turn("note: count")
        assert second.requests == []
        first._script = after
        await turn("hello again", 2)
        calls, results = paired(first.requests[-1].json, api)
    assert ran(workplace) == 1
    assert (ended.outcome, ended.reason) == ("partial", "side_effects")
    assert workplace.rows("SELECT kind, state FROM effects WHERE turn_id = ? ORDER BY position", ended.turn_id) == [
        ("tool", "done"), ("notice", "done"),
    ]  # fmt: skip
    assert workplace.rows("SELECT notice_code FROM turn WHERE turn_id = ?", ended.turn_id) == [("partial",)]
    said = workplace.rows("SELECT role, author FROM message WHERE turn_id = ? ORDER BY entry_id", ended.turn_id)
    assert said == [("user", "mira"), ("tool", "notes_count")]
    assert len(calls) == 1
    assert calls == results
    stop = workplace.rows(
        'SELECT decision, reason, "values" FROM fallback_step ORDER BY turn_id, step LIMIT 1 OFFSET 1'
    )
    assert stop[0][:2] == ("refused", "side_effects")
    assert json.loads(stop[0][2])["after_effects"] is True


@pytest.mark.spec("FB-12", "FB-13", "ENV-22")
@BOTH
@EACH
async def test_after_a_tool_that_only_looked_the_next_candidate_answers_with_its_result(workplace, api, failure):
    async with (
        ScriptedModelServer([tool_calls([("a", "notes_look", {})]), failure(api)], repeat_last=True) as first,
        ScriptedModelServer([envelope("It is 7.")], repeat_last=True) as second,
        running(workplace, api, first.base_url, second.base_url, attempts=1) as turn,
    ):
        ended = await turn("show my notes")
        (request,) = second.requests
        calls, results = paired(request.json, api)
    assert (ended.outcome, ended.reason) == ("answered", "ok")
    assert (len(calls), calls) == (1, results)
    assert '"reasoning"' not in json.dumps(request.json.get("input", []))
    assert "7" in json.dumps(request.json)


@pytest.mark.spec("CON-23", "FB-02")
@BOTH
async def test_a_result_that_has_no_text_is_told_as_such_and_the_turn_goes_on(workplace, api):
    async with (
        ScriptedModelServer([tool_calls([("a", "notes_odd", {})]), envelope("Done.")]) as server,
        running(workplace, api, server.base_url) as turn,
    ):
        ended = await turn("note: odd")
        told = json.dumps(server.requests[1].json)
    assert ran(workplace) == 1
    assert (ended.outcome, ended.reason) == ("answered", "ok")
    assert "[1, 2]" in told


@pytest.mark.spec("FB-13", "CON-22")
@BOTH
async def test_after_effects_the_same_call_is_repeated_with_the_recorded_result_and_may_succeed(workplace, api):
    script = [tool_calls([("a", "notes_count", {})]), status(503), status(503), envelope("Counted.")]
    async with (
        ScriptedModelServer(script) as server,
        running(workplace, api, server.base_url) as turn,
    ):
        ended = await turn("note: count")
        bodies = [request.json for request in server.requests[1:]]
    assert (ended.outcome, ran(workplace)) == ("answered", 1)
    assert bodies[0] == bodies[1] == bodies[2]


@pytest.mark.spec("FB-13")
@BOTH
async def test_an_unusable_output_after_effects_is_asked_for_again_without_tools(workplace, api):
    script = [tool_calls([("a", "notes_count", {})]), envelope(text="no JSON"), envelope("Counted.")]
    async with (
        ScriptedModelServer(script) as server,
        running(workplace, api, server.base_url) as turn,
    ):
        ended = await turn("note: count")
        tools = ["tools" in request.json for request in server.requests]
    assert (ended.outcome, tools) == ("answered", [True, True, False])


@pytest.mark.spec("ENV-29", "FB-12", "FB-15")
@pytest.mark.parametrize(("declared", "answered"), [("stop", False), ("fall_back", True)])
@BOTH
async def test_a_safety_block_ends_the_turn_unless_the_provider_says_otherwise(workplace, api, declared, answered):
    async with (
        ScriptedModelServer([envelope("bad", finish_reason="content_filter")], repeat_last=True) as first,
        ScriptedModelServer([envelope("fine")], repeat_last=True) as second,
    ):
        providers = "".join(
            f'[[providers]]\nname = "{name}"\napi = "{api}"\nbase-url = "{url}"\nmodel = "m"\napi-key-env = ""\n'
            f'safety-block = "{declared}"\n'
            for name, url in (("one", first.base_url), ("two", second.base_url))
        )
        workplace.configure(providers)
        configuration = load_configuration(workplace.folder / "phasewalk.toml")
        async with application(configuration, workplace.database, LogSurface(), "test") as app:
            trigger = Trigger("t", Kind.USER, "hi", "1", "general", "7", "mira", addressed=Addressed.DIRECT)
            ended = (await app.run(trigger)).turn
        assert (len(first.requests), len(second.requests)) == (1, int(answered))
    texts = [d.speech.text for d in ended.delivered]
    assert "bad" not in texts
    assert (ended.outcome, ended.reason) == (("answered", "ok") if answered else ("stopped", "safety_block"))
    assert workplace.rows("SELECT * FROM circuit_failure") == []
