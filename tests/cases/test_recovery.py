"""Real processes, killed with SIGKILL wherever it hurts, and what recovery makes of their turns (TURN-14, TURN-15)."""

import asyncio
import json
import signal
import time

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, hang, tool_calls


async def until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.02)


async def killed(process) -> None:
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.communicate)


async def recovered(workplace, *options: str) -> tuple[int, dict]:
    done = await asyncio.to_thread(workplace.run, "recover", "--json", *options)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.spec("TURN-14", "TURN-15")
async def test_a_turn_that_had_done_nothing_is_run_again(workplace):
    async with ScriptedModelServer([hang(), envelope("Here I am.")]) as server:
        workplace.model(server.base_url)
        process = workplace.start("turn", "are you there?")
        await until(lambda: server.requests)
        await killed(process)
        status, said = await recovered(workplace)
        assert len(server.requests) == 2
    assert (status, said["in_doubt"]) == (0, [])
    assert [(item["phase"], item["outcome"], item["reason"]) for item in said["settled"]] == [
        ("model_attempt", "answered", "ok")
    ]
    assert workplace.rows("SELECT n, status, reason FROM attempt ORDER BY n") == [
        (1, "cancelled", "process_gone"),
        (2, "ok", None),
    ]
    assert workplace.rows("SELECT claims, attempts, outcome FROM turn") == [(2, 2, "answered")]
    taken = workplace.rows("SELECT transition, to_phase, reason FROM phase_event WHERE event = 'interrupted'")
    assert taken == [("T40", "received", "process_gone")]
    assert workplace.rows("SELECT kind, state FROM effects") == [("answer", "done")]
    assert workplace.rows("SELECT role, text FROM message ORDER BY entry_id") == [
        ("user", "are you there?"),
        ("assistant", "Here I am."),
    ]
    assert workplace.run("stuck").returncode == 0
    assert workplace.run("recover").stdout == "nothing to settle\n"


SLOW = """
import asyncio
from pathlib import Path

@tool(family="notes", effect="mutating")
async def notes_slow(how: str) -> dict:
    "Count, and never end."
    with Path("begun.txt").open("a") as file:
        file.write("x")
    if how == "hang":
        await asyncio.sleep(600)
    return {"done": True}

@tool(family="notes", effect="read_only")
async def notes_look() -> dict:
    "Look."
    return {"seen": 1}
"""


@pytest.mark.spec("TURN-14", "TURN-15", "CON-22")
async def test_a_mutating_tool_without_a_receipt_is_never_run_again(workplace):
    extra = workplace.tools(SLOW)
    begun = workplace.folder / "begun.txt"
    calls = tool_calls([("a", "notes_look", {}), ("b", "notes_slow", {"how": "hang"})])
    async with ScriptedModelServer([calls], repeat_last=True) as server:
        workplace.model(server.base_url, extra=extra)
        process = workplace.start("turn", "note: begin")
        await until(begun.exists)
        await until(lambda: workplace.rows("SELECT 1 FROM tool_call WHERE status = 'ok'"))
        await killed(process)
        status, said = await recovered(workplace)
        assert len(server.requests) == 1
    assert begun.read_text() == "x"
    assert status == 1
    (doubt,) = said["in_doubt"]
    assert (doubt["kind"], doubt["target"]) == ("tool", "notes_slow")
    assert workplace.rows("SELECT outcome, reason, reason_phase, notice_code FROM turn") == [
        ("in_doubt", "process_gone", "tool_rounds", "partial")
    ]
    assert workplace.rows("SELECT name, status, reason FROM tool_call ORDER BY call_id") == [
        ("notes_look", "ok", None),
        ("notes_slow", "interrupted", "process_gone"),
    ]
    history = workplace.rows("SELECT role, author, text FROM message ORDER BY entry_id")
    assert ("tool", "notes_slow", "stopped before it ended: outcome unknown") in history
    assert history[0][0] == "user"
    resolved = workplace.run("recover", "--resolve", doubt["effect_id"], "--as", "not-done", "--note", "I looked")
    assert (resolved.returncode, resolved.stderr) == (0, "")
    assert workplace.rows("SELECT state FROM effects WHERE kind = 'tool'") == [("failed",)]
    assert workplace.rows("SELECT what, before, after FROM operator_action") == [
        ("resolved an effect in doubt: I looked", '"in_doubt"', '"failed"')
    ]
    assert workplace.run("recover").returncode == 0


@pytest.mark.spec("TURN-14", "TURN-15")
async def test_a_mutating_tool_with_its_receipt_ends_partial(workplace):
    extra = workplace.tools(SLOW)
    calls = tool_calls([("b", "notes_slow", {"how": "now"})])
    async with ScriptedModelServer([calls, hang()], repeat_last=True) as server:
        workplace.model(server.base_url, extra=extra)
        process = workplace.start("turn", "note: begin")
        await until(lambda: len(server.requests) == 2)
        await killed(process)
        status, _ = await recovered(workplace)
        assert len(server.requests) == 2
    assert status == 0
    assert (workplace.folder / "begun.txt").read_text() == "x"
    assert workplace.rows("SELECT outcome, reason, notice_code FROM turn") == [("partial", "process_gone", "partial")]
    assert ("tool", '{"done": true}') in workplace.rows("SELECT role, text FROM message")


@pytest.mark.spec("TURN-14")
async def test_after_three_claims_a_turn_is_abandoned_with_a_notice(workplace):
    async with ScriptedModelServer([hang()], repeat_last=True) as server:
        workplace.model(server.base_url)
        process = workplace.start("turn", "are you there?")
        for claim in (2, 3):
            await until(lambda asked=claim - 1: len(server.requests) == asked)
            await killed(process)
            process = workplace.start("recover")
        await until(lambda: len(server.requests) == 3)
        await killed(process)
        status, said = await recovered(workplace)
        assert len(server.requests) == 3
    assert status == 0
    assert [(item["outcome"], item["reason"]) for item in said["settled"]] == [("abandoned", "claims_exhausted")]
    assert workplace.rows("SELECT claims, notice_code FROM turn") == [(4, "restart")]


@pytest.mark.spec("TURN-14")
async def test_a_turn_that_is_too_old_is_abandoned(workplace):
    async with ScriptedModelServer([hang()], repeat_last=True) as server:
        workplace.model(server.base_url, recover_within="1s")
        process = workplace.start("turn", "are you there?")
        await until(lambda: server.requests)
        await killed(process)
        await asyncio.sleep(1.1)
        _, said = await recovered(workplace)
        assert len(server.requests) == 1
    assert [(item["outcome"], item["reason"]) for item in said["settled"]] == [("abandoned", "process_gone")]
