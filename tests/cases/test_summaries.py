"""What has left the window of a channel is summed up by a model, on the same executor as any other call."""

import asyncio
import json
import subprocess

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, completion, envelope, raw, status

EXTRA = "[bot]\nhistory-limit = 4\nsummary-after = 4\n"
SUMMARY = "They greet each other by number."


def talk(workplace, lines: int) -> "subprocess.CompletedProcess[str]":
    said = "".join(f"hello number {n}\n" for n in range(lines))
    return workplace.run("chat", said=said)


def answers(summary):
    """Envelopes for turns, `summary` for requests that ask for one."""

    def step(request):
        asks = "response_format" not in request.json
        return summary if asks else envelope("hi")

    return step


@pytest.mark.spec("ENV-31", "FB-04", "ENV-36")
async def test_what_left_the_window_is_summed_up_and_shown_to_later_turns(workplace):
    text = completion({"role": "assistant", "content": SUMMARY})
    async with ScriptedModelServer(answers(text)) as server:
        workplace.model(server.base_url, extra=EXTRA)
        done = await asyncio.to_thread(talk, workplace, 6)
        asked = [r.json for r in server.requests if "response_format" not in r.json]
        last = server.requests[-1].json if "response_format" in server.requests[-1].json else server.requests[-2].json
    assert done.returncode == 0, done.stderr
    assert "hello number 0" in json.dumps(asked[0]["messages"])
    assert "tools" not in asked[0]
    assert json.loads(last["messages"][-1]["content"])["earlier"] == SUMMARY
    assert workplace.rows("SELECT DISTINCT text FROM summary") == [(SUMMARY,)]
    summed = workplace.rows("SELECT outcome, reason, kind FROM turn WHERE machine = 'summary'")
    assert set(summed) == {("completed", "ok", "idle")}


@pytest.mark.spec("FB-04", "FB-13")
async def test_a_summary_is_retried_and_falls_back_like_any_other_call(workplace):
    text = completion({"role": "assistant", "content": SUMMARY})
    async with (
        ScriptedModelServer(answers(status(500))) as first,
        ScriptedModelServer(answers(text)) as second,
    ):
        workplace.model(first.base_url, second.base_url, extra=EXTRA, attempts=2)
        await asyncio.to_thread(talk, workplace, 4)
    turn = workplace.rows("SELECT turn_id FROM turn WHERE machine = 'summary' ORDER BY turn_id")[0][0]
    assert workplace.rows("SELECT cause, provider, status, reason FROM attempt WHERE turn_id = ? ORDER BY n", turn) == [
        ("first", "one", "failed", "http_5xx"),
        ("retry", "one", "failed", "http_5xx"),
        ("fallback", "two", "ok", None),
    ]
    assert workplace.rows("SELECT text FROM summary LIMIT 1") == [(SUMMARY,)]


@pytest.mark.spec("FB-04")
async def test_a_summary_that_fails_says_so_in_the_log_and_disturbs_nobody(workplace):
    async with ScriptedModelServer(answers(completion({"role": "assistant", "content": " "}))) as server:
        workplace.model(server.base_url, extra=EXTRA, attempts=1)
        done = await asyncio.to_thread(talk, workplace, 4)
    assert done.stdout.split() == ["hi"] * 4
    assert set(workplace.rows("SELECT outcome, reason FROM turn WHERE machine = 'summary'")) == {
        ("stopped", "attempts_exhausted"),
    }
    assert workplace.rows("SELECT count(*) FROM summary") == [(0,)]


@pytest.mark.spec("ENV-31")
async def test_the_embedded_rules_are_never_asked_for_a_summary(workplace):
    workplace.configure(EXTRA)
    await asyncio.to_thread(talk, workplace, 5)
    assert workplace.rows("SELECT count(*) FROM turn WHERE machine = 'summary'") == [(0,)]


TOO_LONG = raw(400, '{"error": {"message": "too long", "code": "context_length_exceeded"}}')


@pytest.mark.spec("ENV-30", "ENV-31")
async def test_what_a_shrunk_summary_left_out_is_summed_up_by_a_later_one(workplace):
    summed: list[str] = []

    def step(request):
        if "response_format" in request.json:
            return envelope("hi")
        text = json.dumps(request.json["messages"])
        if "hello number 0" in text and "hello number 1" in text:
            return TOO_LONG
        summed.append(text)
        return completion({"role": "assistant", "content": "They greet each other."})

    async with ScriptedModelServer(step) as server:
        workplace.model(server.base_url, extra="[bot]\nhistory-limit = 4\nsummary-after = 4\n")
        said = "".join(f"hello number {n}\n" for n in range(12))
        await asyncio.to_thread(workplace.run, "chat", said=said)
    assert workplace.rows("SELECT count(*) > 1 FROM summary") == [(1,)]
    assert [n for n in range(8) if not any(f"hello number {n}" in text for text in summed)] == []
