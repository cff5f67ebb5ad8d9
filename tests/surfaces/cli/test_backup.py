"""`phasewalk backup`: a copy while a real bot process writes, and one sentence when there can be none."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from builders import LogBuilder

PROGRAM = (sys.executable, "-m", "phasewalk.surfaces.cli")


@pytest.mark.spec("LOG-13")
def test_a_copy_tells_what_it_holds_and_how_to_check_it(builder: LogBuilder, look, tmp_path: Path):
    builder.turns(3)
    target = tmp_path / "copy.db"
    answer = look("backup", str(target))
    assert answer.status == 0
    first, second = answer.lines
    assert first.startswith(f"{target}: 3 turns, ")
    assert first.endswith(" MB, whole")
    assert second == f"next: phasewalk restore --check {target}"
    assert look("restore", "--check", str(target)).status == 0


@pytest.mark.spec("LOG-13")
def test_the_copy_is_a_log_that_every_command_reads(builder: LogBuilder, process, tmp_path: Path):
    turn = builder.turn()
    assert process("backup", str(tmp_path / "copy.db")).status == 0
    shown = process("show", turn, "--json", path=tmp_path / "copy.db")
    assert shown.document["items"][0]["turn_id"] == turn


def feeding(folder: Path, messages: int) -> "subprocess.Popen[bytes]":
    """A real process that replies to an export."""
    said = [
        {
            "id": str(1_100_000_000_000_000_000 + n), "type": "Default", "timestamp": "2026-11-30T12:00:00+00:00",
            "content": f"@helper note: number {n}",
            "author": {"id": "77", "name": "mira", "nickname": "mira", "isBot": False},
        }
        for n in range(messages)
    ]  # fmt: skip
    export = {"guild": {"id": "1", "name": "g"}, "channel": {"id": "2", "name": "general"}, "messages": said}
    (folder / "export.json").write_text(json.dumps({**export, "messageCount": messages}))
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.Popen(
        [*PROGRAM, "--db", "bot.db", "feed", "export.json"], cwd=folder, env={**kept, "PYTHONUTF8": "1"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def turns(path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as log:
            return log.execute("SELECT count(*) FROM turn WHERE ended_us IS NOT NULL").fetchone()[0]
    except sqlite3.Error:  # the file is being made
        return 0


@pytest.mark.spec("LOG-13", "LOG-14")
def test_the_drill_a_running_bot_is_copied_its_log_lost_and_the_copy_put_in_its_place(process, tmp_path: Path):
    log, copy = tmp_path / "bot.db", tmp_path / "copy.db"
    with feeding(tmp_path, 1500) as bot:
        end = time.monotonic() + 30
        while turns(log) < 20:
            assert time.monotonic() < end
            time.sleep(0.02)
        made = process("backup", str(copy), path=log)
        refused = process("restore", str(copy), path=log)
        running = bot.poll() is None
        bot.wait(60)
        assert bot.stderr is not None
        assert (running, bot.returncode, made.status, made.err) == (True, 0, 0, "")
    assert (refused.status, refused.out) == (4, "")
    assert refused.err.startswith(f"phasewalk: {log}: process {bot.pid} on ")
    assert refused.err.endswith("(feed) writes this log; stop it first; nothing was replaced\n")
    assert turns(log) == 1500 > turns(copy) >= 20
    with closing(sqlite3.connect(copy)) as copied:
        copied.execute("ATTACH ? AS later", (str(log),))
        for table in ("turn", "phase_event", "effect", "effect_event", "message", "note", "payload"):
            columns = "text_digest, turn_id" if table == "turn" else "*"
            strangers = f"SELECT {columns} FROM main.{table} EXCEPT SELECT {columns} FROM later.{table}"
            rows = copied.execute(strangers).fetchall()
            assert rows == [] or table == "message", table  # a message that left the window was marked later
        half = "SELECT count(*) FROM main.turn WHERE ended_us IS NOT NULL AND turn_id NOT IN (SELECT turn_id FROM main.message WHERE turn_id IS NOT NULL)"  # fmt: skip
        assert copied.execute(half).fetchone() == (0,)
    log.unlink()
    restored = process("restore", str(copy), path=log)
    assert (restored.status, restored.err) == (0, "")
    assert turns(log) == turns(copy)
    assert process("list", "--json", path=log).status == 0


@pytest.mark.spec("OPS-13")
def test_a_file_that_is_there_is_not_replaced(builder: LogBuilder, look, tmp_path: Path):
    (tmp_path / "copy.db").write_text("mine")
    answer = look("backup", str(tmp_path / "copy.db"))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"phasewalk: {tmp_path / 'copy.db'}: exists already; a new name is expected\n"
    assert look("backup", str(builder.path)).status == 2
    assert (tmp_path / "copy.db").read_text() == "mine"


@pytest.mark.spec("OPS-13")
def test_what_cannot_be_copied_is_one_sentence_and_status_4(builder: LogBuilder, look, process, tmp_path: Path):
    for answer in (
        look("backup", str(tmp_path / "missing" / "copy.db")),
        process("backup", str(tmp_path / "copy.db"), path=tmp_path / "none.db"),
    ):
        assert (answer.status, answer.out, len(answer.err.splitlines())) == (4, "", 1)
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.spec("OPS-13")
def test_a_copy_needs_a_name(look):
    assert look("backup").status == 2
