"""A provider that fails again and again is left alone; the circuit lies in the log that all processes share."""

import asyncio
import json
import sqlite3
import time

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, hang, refusal, slow, status, tool_calls

LIMITS = {"attempts": 1}


def circuit(workplace, *arguments: str) -> list[dict]:
    done = workplace.run("circuit", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["items"]


def age(workplace, seconds: float) -> None:
    """Let the circuits be older than they are, as if time had passed."""
    with sqlite3.connect(workplace.database) as log:
        by = int(seconds * 1_000_000)
        log.execute("UPDATE circuit SET opened_us = opened_us - ?, open_until_us = open_until_us - ?", (by, by))


def considered(turn: dict) -> list[tuple]:
    return [(f["candidate"], f["decision"], f["reason"]) for f in turn["fallback"]]


@pytest.mark.spec("FB-15", "FB-11", "FB-14")
async def test_three_failed_turns_open_the_circuit_and_the_next_turn_passes_the_provider_over(workplace):
    async with (
        ScriptedModelServer([status(500)], repeat_last=True) as first,
        ScriptedModelServer([envelope("second")], repeat_last=True) as second,
    ):
        workplace.model(first.base_url, second.base_url, **LIMITS)
        for _ in range(3):
            await asyncio.to_thread(workplace.turn, "hi")
        turn = await asyncio.to_thread(workplace.turn, "hi")
        assert (len(first.requests), len(second.requests)) == (3, 4)
    assert considered(turn) == [("one/m-one", "skipped", "circuit_open"), ("two/m-two", "taken", "ok")]
    assert turn["fallback"][0]["values"]["open_for"] <= 1800
    (item,) = await asyncio.to_thread(circuit, workplace)
    assert (item["provider"], item["state"], item["failures"], item["last_reason"]) == ("one", "open", 3, "http_5xx")


@pytest.mark.spec("FB-15")
async def test_a_success_clears_what_was_counted(workplace):
    steps = [status(500), status(500), envelope("fine"), status(500), status(500), envelope("fine again")]
    async with ScriptedModelServer(steps) as server:
        workplace.model(server.base_url, **LIMITS)
        outcomes = [(await asyncio.to_thread(workplace.turn, "hi"))["outcome"] for _ in steps]
    assert outcomes == ["stopped", "stopped", "answered", "stopped", "stopped", "answered"]


@pytest.mark.spec("FB-15")
async def test_refusals_and_other_client_errors_do_not_count(workplace):
    async with ScriptedModelServer(
        [refusal("no"), status(400), refusal("no"), status(404), envelope("fine")]
    ) as server:
        workplace.model(server.base_url, **LIMITS)
        for _ in range(4):
            await asyncio.to_thread(workplace.turn, "hi")
        turn = await asyncio.to_thread(workplace.turn, "hi")
    assert turn["answer"] == "fine"
    assert await asyncio.to_thread(circuit, workplace) == []


@pytest.mark.spec("FB-15")
async def test_retries_of_one_turn_are_one_failure(workplace):
    async with ScriptedModelServer([status(500)] * 6 + [envelope("fine")]) as server:
        workplace.model(server.base_url, attempts=3)
        for _ in range(2):
            await asyncio.to_thread(workplace.turn, "hi")
        turn = await asyncio.to_thread(workplace.turn, "hi")
    assert turn["answer"] == "fine"


@pytest.mark.spec("FB-15", "TURN-06")
async def test_a_provider_that_lets_a_turn_expire_is_counted(workplace):
    async with ScriptedModelServer([hang()]) as server:
        workplace.model(server.base_url, **LIMITS)
        turn = await asyncio.to_thread(workplace.turn, "hi", "--deadline", "0.4")
    assert turn["outcome"] == "expired"
    assert workplace.rows("SELECT provider, reason FROM circuit_failure") == [("one", "timed_out")]


@pytest.fixture
async def opened(workplace):
    """A workplace whose provider `one` has an open circuit; `second` answers in its place."""
    async with ScriptedModelServer([status(500)] * 3) as bad:
        workplace.model(bad.base_url, **LIMITS)
        for _ in range(3):
            await asyncio.to_thread(workplace.turn, "hi")
    return workplace


@pytest.mark.spec("FB-15")
async def test_after_the_cooldown_one_probe_closes_the_circuit(opened):
    async with ScriptedModelServer([envelope("back")], repeat_last=True) as server:
        opened.model(server.base_url, **LIMITS)
        before = await asyncio.to_thread(opened.turn, "hi")
        age(opened, 1801)
        probe = await asyncio.to_thread(opened.turn, "hi")
    assert (before["outcome"], before["reason"]) == ("stopped", "circuit_open")
    assert [(a["cause"], a["status"]) for a in probe["attempts"]] == [("probe", "ok")]
    assert probe["fallback"][0]["rule"] == "FB-15: half-open, one probe"
    assert [c["state"] for c in await asyncio.to_thread(circuit, opened)] == ["closed"]


@pytest.mark.spec("FB-15")
async def test_a_failed_probe_is_one_call_and_opens_the_circuit_anew(opened):
    async with (
        ScriptedModelServer([status(503)], repeat_last=True) as bad,
        ScriptedModelServer([envelope("second")], repeat_last=True) as good,
    ):
        opened.model(bad.base_url, good.base_url, attempts=3)
        age(opened, 1801)
        probe = await asyncio.to_thread(opened.turn, "hi")
        after = await asyncio.to_thread(opened.turn, "hi")
        assert len(bad.requests) == 1
    assert [(a["cause"], a["provider"], a["status"]) for a in probe["attempts"]] == [
        ("probe", "one", "failed"), ("fallback", "two", "ok"),
    ]  # fmt: skip
    assert considered(after)[0] == ("one/m-one", "skipped", "circuit_open")
    (item,) = await asyncio.to_thread(circuit, opened)
    assert item["open_until_us"] > time.time_ns() // 1000 + 1_700_000_000


@pytest.mark.spec("FB-15")
async def test_of_two_turns_at_once_only_one_is_the_probe(opened):
    async with ScriptedModelServer([slow(envelope("back"), first_byte=1.5), envelope("back")]) as server:
        opened.model(server.base_url, **LIMITS)
        age(opened, 1801)
        turns = await asyncio.gather(*(asyncio.to_thread(opened.turn, "hi", "--channel", c) for c in "ab"))
        assert len(server.requests) == 1
    assert sorted(t["outcome"] for t in turns) == ["answered", "stopped"]


@pytest.mark.spec("FB-15", "LOG-15")
async def test_an_operator_closes_a_circuit_and_that_is_written_down(opened):
    items = await asyncio.to_thread(circuit, opened, "--reset", "one")
    assert [(c["provider"], c["state"], c["failures"]) for c in items] == [("one", "closed", 0)]
    async with ScriptedModelServer([envelope("back")]) as server:
        opened.model(server.base_url, **LIMITS)
        assert (await asyncio.to_thread(opened.turn, "hi"))["answer"] == "back"
    assert opened.rows("SELECT what, target, before, after FROM operator_action") == [
        ("reset a circuit", "one", '"open"', '"closed"'),
    ]  # fmt: skip


@pytest.mark.spec("FB-15", "FB-12")
async def test_a_circuit_that_opens_during_a_turn_does_not_stop_that_turn(workplace):
    look = tool_calls([("a", "notes_list", {})])
    async with ScriptedModelServer([look, envelope("You have none.")]) as server:
        workplace.model(server.base_url, **LIMITS)
        workplace.configure((workplace.folder / "phasewalk.toml").read_text() + "\n[circuit]\nfailures = 1\n")
        turn = await asyncio.to_thread(workplace.turn, "show my notes")
    assert turn["answer"] == "You have none."


@pytest.mark.spec("FB-12", "TURN-06", "FB-15")
async def test_an_expired_turn_gets_the_time_out_notice_whatever_its_candidates_would_be_skipped_for(workplace):
    """Case 21: three candidates, three reasons to skip, the deadline past: no circuit is touched."""
    extra = workplace.tools(
        "import asyncio\n@tool(family='notes', effect='read_only')\nasync def notes_slow() -> dict:\n"
        "    'Take long.'\n    await asyncio.sleep(30)\n    return {}\n"
    )
    async with ScriptedModelServer([tool_calls([("a", "notes_slow", {})])]) as server:
        workplace.model(server.base_url, extra=extra)
        text = (workplace.folder / "phasewalk.toml").read_text()
        others = (
            '[[providers]]\nname = "odd"\napi = "telepathy"\nmodel = "m"\napi-key-env = ""\n'
            '[[providers]]\nname = "keyless"\nmodel = "m"\napi-key-env = "NOWHERE"\n'
            '[[providers]]\nname = "plain"\nmodel = "m"\napi-key-env = ""\ncapabilities = []\n'
        )
        workplace.configure(text + others)
        turn = await asyncio.to_thread(workplace.turn, "show my notes", "--deadline", "5")
    assert (turn["outcome"], turn["reason"], turn["notice_code"]) == ("expired", "deadline_passed", "deadline")
    assert considered(turn) == [("one/m-one", "taken", "ok")]
    assert workplace.rows("SELECT * FROM circuit") == []
    assert workplace.rows("SELECT * FROM circuit_failure") == []
