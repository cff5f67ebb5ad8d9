"""A replay opens no socket, runs no tool, writes nothing; and what it says of many turns at once."""

import asyncio
import json
import socket
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner
from replaying import COUNT, LOOK, is_same

from phasewalk.phases.providers.testing import (
    envelope,
    status,
)
from phasewalk.surfaces.cli.main import main


@pytest.mark.spec("OPS-15")
async def test_no_socket_is_made_also_where_the_turn_had_asked_a_model(place, monkeypatch):
    await place.walk("show my notes", first=[LOOK, status(503), envelope("7.")], second=[envelope("x")])
    seen: list[str] = []
    watching = True
    sys.addaudithook(lambda event, _: seen.append(event) if watching and event.startswith("socket.") else None)

    def refuse(*_arguments, **_keywords):
        raise AssertionError("a socket was made")

    monkeypatch.setattr(socket, "socket", refuse)
    verdict = place.replay()[0]
    watching = False
    monkeypatch.undo()
    assert is_same(verdict)
    assert seen == []


@pytest.mark.spec("OPS-15")
async def test_a_tool_module_that_wants_a_socket_when_it_is_imported_gets_none(place):
    await place.walk("hi", first=[envelope("Hello.")])
    module = place.workplace.folder / "my_tools.py"
    module.write_text(module.read_text() + "\nimport socket\nsocket.socket()\n")
    answer = place.look("last")
    assert (answer.status, answer.out) == (2, "")
    assert "a replay opens no socket" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.spec("OPS-15")
async def test_the_log_is_not_written_and_neither_client_nor_discord_is_imported(place):
    await place.walk("note: count", first=[COUNT, envelope("Done.")])
    before = place.workplace.database.read_bytes()
    code = (
        "import sys; from phasewalk.surfaces.cli.main import main\n"
        "main(['replay', 'last'], standalone_mode=False)\n"
        "print(sorted({'openai', 'discord', 'httpx'} & set(sys.modules)))"
    )
    place.workplace.folder.chmod(0o555)
    done = await asyncio.to_thread(run_python, place.workplace, code)
    place.workplace.folder.chmod(0o755)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stderr
    assert place.workplace.database.read_bytes() == before


def run_python(workplace, code: str):
    import subprocess

    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=workplace.folder,
        env=workplace.environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.spec("OPS-13", "TURN-02")
async def test_a_changed_row_of_the_table_is_named_with_what_its_guards_answered(place, monkeypatch):
    from phasewalk.machine.table import Table
    from phasewalk.machine.turn_table import TURN_TABLE
    from phasewalk.phases import machine

    await place.walk("note: count", first=[COUNT, status(404)], second=[envelope("from two")])
    assert place.outcomes() == [("partial", "side_effects")]
    rows = [
        row
        if row.id != "T15"
        else type(row)(row.id, row.sources, row.events, ("before_deadline", "candidate_left"), row.target, row.cause)
        for row in TURN_TABLE.rows
    ]
    monkeypatch.setattr(machine, "TURN_TABLE", Table("turn", TURN_TABLE.phases, tuple(rows)))
    (item,) = place.replay()
    found = {d["section"]: (d["recorded"], d["today"]) for d in item["differences"]}
    assert found["transition"] == ("T16 to deliver", "T15 to model_attempt")
    assert any(said.startswith("T15.fallback_allowed did not hold") for said in found["guards"][0])
    assert any(said.startswith("T15.candidate_left held (next two/m-two") for said in found["guards"][1])
    assert place.ran() == "x"


@pytest.mark.spec("OPS-13", "OPS-01", "OPS-10", "OPS-14")
def test_every_turn_of_the_shipped_export_is_decided_the_same(workplace):
    examples = Path(__file__).parents[2] / "examples"
    given = ("--config", str(examples / "phasewalk.toml"), "--db", str(workplace.database))
    assert workplace.run(*given, "feed", str(examples / "help-server.json")).returncode == 0
    listed = workplace.run(*given, "list", "--jsonl", "--limit", "1000").stdout
    ids = "".join(f"{json.loads(line)['turn_id']}\n" for line in listed.splitlines())
    done = workplace.run(*given, "replay", "-", said=ids)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "phasewalk: 88 turns: 88 the same, 0 differ, 0 could not be told\n"
    assert len(done.stdout.splitlines()) == 88


BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.spec("OPS-13", "BAR-22")
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_turns_against_a_provider_with_faults_are_decided_the_same(tmp_path, monkeypatch, api):
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("FAULTS_KEY", "")
    import faults

    await faults.run(tmp_path, seed=23, turns=60, api=api, circuits=faults.RUNS[2])
    sys.modules.pop("phasewalk_tools_from_ledger_tools", None)
    with sqlite3.connect(tmp_path / "faults.db") as log:
        names = [name for (name,) in log.execute("SELECT turn_id FROM turn")]
    log.close()
    given = [
        "--config",
        str(tmp_path / "phasewalk.toml"),
        "--db",
        str(tmp_path / "faults.db"),
        "replay",
        "--jsonl",
        *names,
    ]
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(CliRunner().invoke, main, given).result()
    sys.modules.pop("phasewalk_tools_from_ledger_tools", None)
    items = [json.loads(line) for line in done.stdout.splitlines()]
    assert [item for item in items if item["verdict"] != "same"] == []
    assert len(items) == 60
