"""`phasewalk why` after turns that really went wrong: the first cause first, the rule quoted, what would have helped."""

import asyncio
import json

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, hang, status, tool_calls

NOTED = tool_calls([("a", "notes_add", {"text": "milk"})])


async def why(workplace, steps, text="hi", *options, second=(), extra="", **limits):
    """Walk one turn on a provider with these answers, and another with those of `second`; what `why last` says."""
    async with (
        ScriptedModelServer(steps, repeat_last=True) as first,
        ScriptedModelServer(list(second) or [envelope("x")], repeat_last=True) as other,
    ):
        urls = (first.base_url, other.base_url) if second else (first.base_url,)
        workplace.model(*urls, extra=extra, **limits)
        await asyncio.to_thread(workplace.turn, text, *options)
    done = await asyncio.to_thread(workplace.run, "why", "last")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.spec("OPS-12", "FB-12")
async def test_a_fallback_that_was_refused_for_side_effects(workplace):
    lines = await why(workplace, [NOTED, status(500)], "note: milk", second=[envelope("x")])
    assert "ended partial in model_attempt: something that cannot be taken back had happened" in lines[0]
    assert lines[1] == "because"
    assert lines[2].startswith(
        "  one/m-one was asked 4 times; 3 of them failed, the first failure: the provider answered"
    )
    assert "  before that, notes_add had been started, which cannot be taken back" in lines
    (rule,) = [line for line in lines if line.startswith("decided by T15.fallback_allowed")]
    assert "after_effects: true" in rule
    assert "otherwise: had notes_add been declared read_only, two/m-two would have been asked" in lines


@pytest.mark.spec("OPS-12", "ENV-29")
async def test_a_safety_block(workplace):
    lines = await why(workplace, [status(400, error_code="content_filter")], second=[envelope("x")])
    assert "(safety_block)" in lines[0]
    assert 'otherwise: with safety-block = "fall_back" for that provider two/m-two would have been asked' in lines


@pytest.mark.spec("OPS-12", "ENV-30")
async def test_a_context_limit(workplace):
    lines = await why(workplace, [status(400, error_code="context_length_exceeded")])
    assert "(context_limit)" in lines[0]
    assert any(line.startswith("otherwise: a shorter message") for line in lines)


@pytest.mark.spec("OPS-12", "FB-10")
async def test_candidates_that_all_failed_each_with_its_first_failure(workplace):
    lines = await why(workplace, [status(503), envelope(text="no JSON")], second=[status(404)], attempts=2)
    assert "(candidates_exhausted)" in lines[0]
    body = "\n".join(lines)
    assert body.index("(http_5xx), http 503") < body.index("two/m-two was asked once")
    assert "  an answer was rejected: the model's answer does not match the envelope schema (envelope_invalid)" in lines
    assert "otherwise: one more candidate behind two/m-two" in body


@pytest.mark.spec("OPS-12", "FB-11")
async def test_candidates_that_were_all_passed_over(workplace):
    workplace.configure('[[providers]]\nname = "one"\napi-key-env = "NO_SUCH_KEY"\nmodel = "m"\n')
    await asyncio.to_thread(workplace.run, "turn", "hi")
    lines = workplace.run("why", "last").stdout.splitlines()
    assert any(line.startswith("  one/m was passed over: ") for line in lines)
    assert "otherwise: with its key in the environment the provider would have been asked" in lines


SLOW = """
import asyncio

@tool(family="notes", effect="read_only")
async def notes_slow() -> str:
    "Wait."
    await asyncio.sleep(60)
    return ""
"""


@pytest.mark.spec("OPS-12", "TURN-07")
async def test_a_deadline_in_a_tool(workplace):
    steps = [tool_calls([("a", "notes_slow", {})])]
    lines = await why(workplace, steps, "show my notes", "--deadline", "4", extra=workplace.tools(SLOW))
    assert "ended expired in tool_rounds" in lines[0]
    assert any(line.startswith("  the tool notes_slow, which only reads, ended as interrupted") for line in lines)
    assert "  the turn may take 4.0 s, and that was over in tool_rounds" in lines
    assert "otherwise: with more time for a turn than 4.0 s it would have gone on" in lines


@pytest.mark.spec("OPS-12", "ENV-02")
async def test_a_silent_turn(workplace):
    lines = await why(workplace, [envelope("unsaid", answer_needed=False)], "hm", "--no-direct")
    assert "  nobody had spoken to the bot, and the model said that no answer was needed" in lines
    assert "otherwise: a mention of the bot, a reply to it or a direct message would have been answered" in lines


@pytest.mark.spec("OPS-12", "CON-12")
async def test_what_is_missing_is_told_with_the_words_that_asked_for_it(workplace):
    lines = await why(workplace, [envelope("x")], "check my inbox")
    assert any("email: inbox, check" in line for line in lines)


@pytest.mark.spec("OPS-12")
async def test_a_turn_that_still_waits(workplace):
    arrived = asyncio.Event()

    def step(_request):
        arrived.set()
        return hang()

    async with ScriptedModelServer(step) as server:
        workplace.model(server.base_url)
        with workplace.start("turn", "hi") as running:
            try:
                await asyncio.wait_for(arrived.wait(), 30)
                lines = (await asyncio.to_thread(workplace.run, "why", "last")).stdout.splitlines()
            finally:
                running.kill()
    assert "has not ended yet: it stands in model_attempt" in lines[0]
    assert lines[1].startswith("  it waits for the answer of one/m-one, since ")
    assert lines[2].startswith("  its deadline is in ")
    dead = (await asyncio.to_thread(workplace.run, "why", "last")).stdout.splitlines()
    assert "is stuck: it stands in model_attempt" in dead[0]
    assert any(line.startswith("  nothing moves it: process_gone: its process") for line in dead)


@pytest.mark.spec("OPS-12", "OPS-14")
async def test_json_holds_the_same(workplace):
    await why(workplace, [status(404)], attempts=1)
    (item,) = json.loads(workplace.run("why", "last", "--json").stdout)["items"]
    assert (item["outcome"], item["reason"]) == ("stopped", "attempts_exhausted")
    assert item["first_failure"]["http_status"] == 404
    assert item["causes"]
    assert item["rule"]
    assert list(item) == [
        "turn_id", "outcome", "reason", "phase", "verdict", "causes", "first_failure", "rule", "values", "otherwise",
        "waits", "stuck",
    ]  # fmt: skip


@pytest.mark.spec("OPS-12", "OPS-13")
def test_an_unknown_turn_is_one_sentence(workplace):
    workplace.configure("")
    workplace.run("turn", "hi")
    done = workplace.run("why", "zzzz")
    assert (done.returncode, done.stdout) == (3, "")
    assert "Traceback" not in done.stderr
