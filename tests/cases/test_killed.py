"""A real process, killed with SIGKILL in the middle of a turn: the log tells where it was (TURN-15)."""

import asyncio
import json
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, hang, tool_calls


async def until(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.02)


async def killed(process) -> None:
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.communicate)


@pytest.mark.spec("TURN-15", "LOG-01", "LOG-02")
async def test_killed_inside_the_model_call(workplace):
    async with ScriptedModelServer([hang()], repeat_last=True) as server:
        workplace.model(server.base_url)
        process = workplace.start("turn", "are you there?")
        await until(lambda: server.requests)
        await killed(process)
    (turn,) = workplace.rows("SELECT turn_id, phase, outcome, ended_us FROM turn")
    assert turn[1:] == ("model_attempt", None, None)
    entered = workplace.rows("SELECT phase, kind FROM phase_event ORDER BY seq DESC LIMIT 1")
    assert entered == [("model_attempt", "enter")]
    assert workplace.rows("SELECT n, status FROM attempt") == [(1, "running")]
    assert workplace.rows("PRAGMA integrity_check") == [("ok",)]
    stuck = workplace.run("stuck", "--json")
    (item,) = json.loads(stuck.stdout)["items"]
    assert stuck.returncode == 1
    assert (item["turn_id"], item["phase"], item["rule"]) == (turn[0], "model_attempt", "process_gone")


SLOW = """
import asyncio
from pathlib import Path

@tool(family="notes", effect="mutating")
async def notes_slow() -> dict:
    "Begin, and never end."
    Path("begun.txt").write_text("x")
    await asyncio.sleep(600)
    return {}
"""


@pytest.mark.spec("TURN-15", "CON-22", "LOG-02")
async def test_killed_inside_a_mutating_tool(workplace):
    extra = workplace.tools(SLOW)
    begun: Path = workplace.folder / "begun.txt"
    async with ScriptedModelServer([tool_calls([("a", "notes_slow", {})])]) as server:
        workplace.model(server.base_url, extra=extra)
        process = workplace.start("turn", "note: begin")
        await until(begun.exists)
        await killed(process)
    assert workplace.rows("SELECT phase, outcome FROM turn") == [("tool_rounds", None)]
    assert workplace.rows("SELECT kind, target, state FROM effects") == [("tool", "notes_slow", "intended")]
    assert workplace.rows("SELECT name, status FROM tool_call") == [("notes_slow", None)]
    assert workplace.rows("SELECT n, status FROM attempt") == [(1, "ok")]
    stuck = workplace.run("stuck")
    assert stuck.returncode == 1
    assert "process_gone" in stuck.stdout
    assert "tool_rounds" in stuck.stdout


@pytest.mark.spec("TURN-10", "TURN-15")
async def test_a_feed_killed_in_the_middle_goes_on_without_doing_anything_twice(workplace):
    messages = [
        {
            "id": str(1_100_000_000_000_000_000 + n),
            "type": "Default",
            "timestamp": "2026-11-30T12:00:00+00:00",
            "content": f"@helper note: number {n}",
            "author": {"id": "77", "name": "mira", "nickname": "mira", "isBot": False},
        }
        for n in range(150)
    ]
    export = {"guild": {"id": "1", "name": "g"}, "channel": {"id": "2", "name": "general"}, "messages": messages}
    (workplace.folder / "export.json").write_text(json.dumps({**export, "messageCount": len(messages)}))
    process = workplace.start("feed", "export.json")
    await until(lambda: workplace.database.exists() and _notes(workplace) >= 5)
    await killed(process)
    before = _notes(workplace)
    again = await asyncio.to_thread(workplace.run, "feed", "export.json", "--json")
    tally = json.loads(again.stdout)
    assert again.returncode == 0
    assert before >= 5
    assert tally["turns"] + tally["already_fed"] == 150
    assert workplace.rows("SELECT count(*), count(DISTINCT text) FROM note")[0] in {(150, 150), (149, 149)}
    assert workplace.rows("SELECT max(n) FROM (SELECT count(*) AS n FROM turn GROUP BY trigger_key)") == [(1,)]


def _notes(workplace) -> int:
    try:
        return workplace.rows("SELECT count(*) FROM note")[0][0]
    except sqlite3.Error:  # the file is being made
        return 0


@pytest.mark.spec("TURN-16", "TURN-07")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_asked_to_stop_a_running_turn_ends_with_the_restart_notice(workplace, number):
    async with ScriptedModelServer([hang()], repeat_last=True) as server:
        workplace.model(server.base_url)
        process = workplace.start("turn", "are you there?", "--json")
        await until(lambda: server.requests)
        process.send_signal(number)
        out, _ = await asyncio.to_thread(process.communicate)
    turn = json.loads(out)
    assert process.returncode == 130
    assert (turn["outcome"], turn["reason"], turn["notice_code"]) == ("cancelled", "shutting_down", "restart")
    assert workplace.rows("SELECT end_reason IS NOT NULL FROM process") == [(1,)]
