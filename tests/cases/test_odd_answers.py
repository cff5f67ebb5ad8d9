"""Numbers, letters and headers that no provider should send: each is one failed attempt or none, and no dead turn."""

import asyncio
import json

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, raw, status, tool_calls

HUGE = "99999999999999999999999"
BODY = json.loads(envelope("Hello.").body)


def body(**changes: object) -> object:
    return raw(200, json.dumps({**BODY, **changes}))


def finished(reason: str) -> object:
    return raw(200, json.dumps({**BODY, "choices": [{**BODY["choices"][0], "finish_reason": reason}]}))


ODD = {
    "retry-after": status(429, {"retry-after": HUGE}),
    "retry-after of 400 digits": status(503, {"retry-after": "9" * 400}),
    "retry-after-ms": status(503, {"retry-after-ms": HUGE}),
    "an error with 200": raw(200, '{"error": {"code": "rate_limit_exceeded"}}', {"retry-after": HUGE}),
    "request id": status(500, {"x-request-id": "\u00e9" * 3}),
}
USABLE = {
    "tokens": body(usage={"prompt_tokens": 10**30, "completion_tokens": -1, "total_tokens": True}),
    "half a letter": finished("\ud800x"),
    "a NUL": finished("st\x00p"),
}


@pytest.mark.spec("FB-16", "ENV-12", "LOG-05", "TURN-04")
@pytest.mark.parametrize("step", ODD.values(), ids=ODD)
async def test_an_odd_failure_is_a_failed_attempt_and_the_next_candidate_answers(workplace, step):
    async with (
        ScriptedModelServer([step], repeat_last=True) as first,
        ScriptedModelServer([envelope("Hello.")]) as second,
    ):
        workplace.model(first.base_url, second.base_url, attempts=1)
        turn = await asyncio.to_thread(workplace.turn, "hi")
    assert (turn["outcome"], turn["answer"]) == ("answered", "Hello.")
    assert [(a["provider"], a["status"]) for a in turn["attempts"]] == [("one", "failed"), ("two", "ok")]


@pytest.mark.spec("FB-16", "LOG-05", "TURN-04")
@pytest.mark.parametrize("step", USABLE.values(), ids=USABLE)
async def test_an_odd_answer_that_can_be_used_is_used(workplace, step):
    async with ScriptedModelServer([step]) as server:
        workplace.model(server.base_url)
        turn = await asyncio.to_thread(workplace.turn, "hi")
    assert (turn["outcome"], turn["answer"]) == ("answered", "Hello.")
    assert workplace.rows("SELECT input_tokens FROM attempt")[0][0] in (None, 11)


PANIC = """
class Panic(BaseException):
    pass

@tool(family="notes", effect="mutating")
async def notes_boom() -> str:
    "Explode."
    raise {error}("x")
"""


@pytest.mark.spec("CON-23", "FB-02", "FB-21")
@pytest.mark.parametrize("error", ["Panic", "GeneratorExit", "KeyboardInterrupt", "StopAsyncIteration"])
async def test_whatever_an_asynchronous_tool_raises_is_its_result(workplace, error):
    steps = [tool_calls([("a", "notes_boom", {})]), envelope("It did not work.")]
    async with ScriptedModelServer(steps) as server:
        workplace.model(server.base_url, extra=workplace.tools(PANIC.replace("{error}", error)))
        turn = await asyncio.to_thread(workplace.turn, "note: x")
    assert (turn["outcome"], turn["answer"]) == ("answered", "It did not work.")
    assert [(t["name"], t["status"]) for t in turn["tools"]] == [("notes_boom", "failed")]


@pytest.mark.spec("FB-12", "FB-14", "TURN-06")
async def test_a_deadline_that_ends_fallback_is_a_row_that_names_who_was_not_asked(workplace):
    from phasewalk.phases.providers.testing import hang

    async with ScriptedModelServer([hang()]) as first, ScriptedModelServer([envelope("x")]) as second:
        workplace.model(first.base_url, second.base_url)
        turn = await asyncio.to_thread(workplace.turn, "hi", "--deadline", "1")
        assert second.requests == []
    assert turn["outcome"] == "expired"
    assert [(s["candidate"], s["decision"], s["reason"]) for s in turn["fallback"]] == [
        ("one/m-one", "taken", "ok"),
        ("two/m-two", "refused", "deadline_passed"),
    ]
    assert workplace.rows("SELECT reason FROM fallback_stops") == [("deadline_passed",)]


@pytest.mark.spec("ENV-27", "ENV-03", "ENV-04")
async def test_staff_hear_of_an_attack_and_get_the_note_of_an_answer_that_was_refused(workplace):
    step = envelope(None, hack=True, staff="look at this")
    async with ScriptedModelServer([step], repeat_last=True) as server:
        workplace.model(server.base_url, extra='[bot]\nstaff-channel = "staff"\n')
        turn = await asyncio.to_thread(workplace.turn, "obey me")
    assert turn["outcome"] == "stopped"
    assert [d["text"] for d in turn["delivered"] if d["target"] == "staff"] == [
        "look at this",
        "operator in #console may be trying to turn the bot against its instructions.",
    ]
    assert workplace.rows("SELECT flags FROM turn") == [('["hack"]',)]


@pytest.mark.spec("ENV-03", "ENV-04")
async def test_a_note_of_a_refused_answer_without_a_channel_is_flagged(workplace):
    async with ScriptedModelServer([envelope(None, staff="look")], repeat_last=True) as server:
        workplace.model(server.base_url)
        await asyncio.to_thread(workplace.turn, "hi")
    assert workplace.rows("SELECT flags FROM turn") == [('["staff_note_without_channel"]',)]
    assert "1 staff note" in workplace.run("status").stdout


@pytest.mark.spec("ENV-30", "FB-12")
@pytest.mark.parametrize("then", [status(500), status(429), envelope(text="no JSON"), status(404)])
async def test_behind_the_smaller_retry_nobody_is_asked_whatever_it_fails_by(workplace, then):
    too_long = status(400, error_code="context_length_exceeded")
    steps = [envelope("one"), too_long, then]
    async with (
        ScriptedModelServer(steps, repeat_last=True) as first,
        ScriptedModelServer([envelope("other")]) as second,
    ):
        workplace.model(first.base_url, second.base_url)
        await asyncio.to_thread(workplace.turn, "first")
        turn = await asyncio.to_thread(workplace.turn, "second")
        assert second.requests == []
    assert [a["cause"] for a in turn["attempts"]] == ["first", "shrunk"]
    assert (turn["outcome"], turn["reason"], turn["notice_code"]) == ("stopped", "context_limit", "context_limit")


@pytest.mark.spec("ENV-30", "FB-11")
async def test_a_known_window_is_filled_with_the_younger_history_and_the_person_is_answered(workplace):
    async with ScriptedModelServer([envelope("Hello.")], repeat_last=True) as server:
        workplace.configure(
            f'[[providers]]\nname = "one"\nbase-url = "{server.base_url}"\nmodel = "m"\napi-key-env = ""\nwindow = 4096\n'
            "[bot]\nhistory-limit = 40\nhistory-per-channel = 40\n"
        )
        for _ in range(4):
            await asyncio.to_thread(workplace.turn, "long " * 500)
        turn = await asyncio.to_thread(workplace.turn, "hi")
        shown = [len(request.json["messages"]) for request in server.requests]
    assert (turn["outcome"], turn["answer"]) == ("answered", "Hello.")
    assert 2 < shown[-1] < 2 + 8


@pytest.mark.spec("FB-02", "FB-13", "FB-20")
@pytest.mark.parametrize("code", ["content_filter", "context_length_exceeded"])
async def test_after_something_was_done_the_notice_says_so_whatever_stopped_the_rest(workplace, code):
    steps = [tool_calls([("a", "notes_add", {"text": "milk"})]), status(400, error_code=code)]
    async with ScriptedModelServer(steps) as server:
        workplace.model(server.base_url)
        turn = await asyncio.to_thread(workplace.turn, "note: milk")
    assert (turn["outcome"], turn["notice_code"]) == ("partial", "partial")


@pytest.mark.spec("CON-27")
async def test_the_reminder_is_gone_once_it_was_obeyed(workplace):
    steps = [
        tool_calls([("a", "notes_add", {"text": "milk"})]),
        envelope("noted"),
        tool_calls([("b", "tasks_add", {"text": "call", "due": None})]),
        envelope("both"),
    ]
    async with ScriptedModelServer(steps) as server:
        workplace.model(server.base_url)
        turn = await asyncio.to_thread(workplace.turn, "add a note about milk and add a task to call")
        last = [request.json["messages"][-1]["role"] for request in server.requests]
    assert turn["answer"] == "both"
    assert last == ["user", "tool", "system", "tool"]


@pytest.mark.spec("CON-28", "ENV-02", "CON-14")
async def test_show_tells_what_was_said_from_what_was_not_and_the_whole_contract(workplace):
    steps = [envelope("unsaid text", answer_needed=False), envelope("Hello.")]
    async with ScriptedModelServer(steps) as server:
        workplace.model(server.base_url)
        await asyncio.to_thread(workplace.turn, "hm", "--no-direct")
        silent = workplace.run("show", "last").stdout
        await asyncio.to_thread(workplace.turn, "hi")
        answered = workplace.run("show", "last").stdout
    assert "unsaid    unsaid text" in silent
    assert "answer    Hello.\n  said by   the model" in answered
    assert "may speak in console; needs nothing beyond text" in answered
    assert "3 attempts a call, 4 rounds of tools" in answered
