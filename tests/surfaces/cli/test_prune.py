"""`phasewalk prune`: what goes and what stays, in sentences."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from builders import GONE, LogBuilder

DAY = 86_400.0


@pytest.fixture
def old(builder: LogBuilder) -> LogBuilder:
    """Turns of 40, of 20 and of no days ago; their process is gone."""
    builder.process(pid=GONE)
    for age, text in ((40, "old"), (20, "middle"), (0.01, "new")):
        builder.turn(age=age * DAY, text=text)
    return builder


@pytest.mark.spec("LOG-11")
def test_what_was_pruned_is_told(old: LogBuilder, look):
    answer = look("prune", "--utc")
    assert answer.status == 0
    bodies, turns = answer.lines
    assert bodies.startswith("pruned 2 texts that no turn since ")
    assert turns.startswith("pruned 1 turn from before ")
    assert turns.endswith(" UTC")
    assert look("list", "--json").document["coverage"]["pruned_before"] is not None


@pytest.mark.spec("LOG-11", "OPS-13")
def test_a_pruned_text_is_marked_where_it_is_shown_and_status_5_says_so(old: LogBuilder, look):
    look("prune")
    middle = look("list", "--json").items[-1]["turn_id"]
    answer = look("show", middle)
    assert answer.status == 5
    assert "(pruned)" in answer.out
    assert "1 texts were pruned" in answer.err
    assert look("list", "--content").status == 0


@pytest.mark.spec("LOG-11")
def test_a_dry_run_prunes_nothing(old: LogBuilder, look):
    answer = look("prune", "--dry-run")
    assert answer.lines[1].startswith("would prune 1 turn from before ")
    assert old.log.execute("SELECT count(*) FROM turn").fetchone() == (3,)
    assert old.log.execute("SELECT count(*) FROM prune_log").fetchone() == (0,)


@pytest.mark.spec("LOG-11")
@pytest.mark.parametrize(
    ("options", "left"), [([], 2), (["--keep", "10d"], 1), (["--keep", "6w"], 3), (["--keep", "12h"], 1)], ids=str
)
def test_the_span_says_what_stays(old: LogBuilder, look, options, left):
    look("prune", *options)
    assert old.log.execute("SELECT count(*) FROM turn").fetchone() == (left,)


@pytest.mark.spec("LOG-11")
def test_the_configuration_says_how_long_a_log_is_kept(old: LogBuilder, process, tmp_path: Path):
    file = tmp_path / "some.toml"
    file.write_text(f'[storage]\npath = "{old.path.name}"\nkeep = "10d"\nkeep-payloads = "5d"\n')
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "phasewalk.surfaces.cli", "--config", str(file), "prune"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert old.log.execute("SELECT count(*) FROM turn").fetchone() == (1,)


@pytest.mark.spec("LOG-11", "OPS-13")
def test_nothing_old_enough_is_no_error(old: LogBuilder, look):
    answer = look("prune", "--keep", "60d", "--keep-payloads", "60d")
    assert (answer.status, len(answer.lines)) == (0, 1)
    assert answer.out.startswith("nothing to prune: no turn is from before ")


@pytest.mark.spec("LOG-11")
def test_texts_that_stay_for_a_running_process_are_told_with_what_to_do(builder: LogBuilder, look):
    builder.turn(age=40 * DAY, text="old")
    out = look("prune").out
    assert "1 text stays: process " in out
    assert "it goes when the log is pruned after a restart" in out


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("span", ["5", "soon", "", "-3d", "5m", "0h", "3y", "2026-11-30", "30s"])
def test_what_is_no_span_is_status_2_and_prunes_nothing(old: LogBuilder, look, span):
    for option in ("--keep", "--keep-payloads"):
        answer = look("prune", f"{option}={span}") if span else look("prune", option, " ")
        assert (answer.status, answer.out) == (2, "")
        assert "expected a span of at least an hour, such as 30d, 12h or 6w" in answer.err
    assert old.log.execute("SELECT count(*) FROM turn").fetchone() == (3,)


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("options", [[], ["--dry-run"]], ids=str)
def test_without_a_log_there_is_one_sentence_and_no_file_is_made(process, tmp_path: Path, options):
    answer = process("prune", *options, path=tmp_path / "missing.db")
    assert (answer.status, answer.out, len(answer.err.splitlines())) == (4, "", 1)
    assert not (tmp_path / "missing.db").exists()


@pytest.mark.spec("LOG-11", "LOG-14", "OPS-13")
def test_a_log_that_stays_locked_is_one_sentence(old: LogBuilder, look, monkeypatch: pytest.MonkeyPatch):
    from phasewalk.storage import operators, retention_prune

    monkeypatch.setattr(operators, "PATIENCE_MS", 20)
    monkeypatch.setattr(retention_prune, "PATIENCE_MS", 20)
    old.log.execute("BEGIN IMMEDIATE")
    answer = look("prune")
    old.log.execute("ROLLBACK")
    assert (answer.status, answer.out) == (4, "")
    assert answer.err == f"phasewalk: {old.path}: cannot be pruned (database is locked)\n"


@pytest.mark.spec("LOG-11", "LOG-14")
def test_a_real_bot_is_pruned_beside_and_every_text_that_it_refers_to_is_there(process, tmp_path: Path):
    """A feed in a process of its own, pruned again and again with the shortest span, old turns made old by hand."""
    import os
    import subprocess
    import sys

    said = [
        {
            "id": str(1_100_000_000_000_000_000 + n), "type": "Default", "timestamp": "2026-11-30T12:00:00+00:00",
            "content": f"@helper note: {'the same words again' if n % 3 else n}",
            "author": {"id": "77", "name": "mira", "nickname": "mira", "isBot": False},
        }
        for n in range(900)
    ]  # fmt: skip
    export = {"guild": {"id": "1", "name": "g"}, "channel": {"id": "2", "name": "general"}, "messages": said}
    (tmp_path / "export.json").write_text(json.dumps({**export, "messageCount": len(said)}))
    log = tmp_path / "bot.db"
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    bot = subprocess.Popen(
        [sys.executable, "-m", "phasewalk.surfaces.cli", "--db", "bot.db", "feed", "export.json"], cwd=tmp_path,
        env={**kept, "PYTHONUTF8": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    pruned = 0
    with bot:
        while bot.poll() is None:
            time.sleep(0.1)
            if not log.exists():
                continue
            with closing(sqlite3.connect(log, timeout=10)) as hand:
                try:
                    with hand:  # what has ended becomes old
                        hand.execute("UPDATE turn SET started_us = 1 WHERE ended_us IS NOT NULL")
                except sqlite3.OperationalError:  # the file is being made
                    continue
            answer = process("prune", "--keep", "1h", "--keep-payloads", "1h", path=log)
            assert (answer.status, answer.err) == (0, "")
            pruned += "turn" in answer.out
        assert bot.stderr is not None
        assert (bot.returncode, pruned > 0) == (0, True)
    with closing(sqlite3.connect(log)) as hand:
        assert hand.execute("SELECT count(*) FROM log_loss").fetchone() == (0,)
        assert hand.execute("PRAGMA foreign_key_check").fetchall() == []
        missing = (
            "SELECT count(*) FROM turn AS t LEFT JOIN payload AS p ON p.digest = t.text_digest WHERE p.body IS NULL"
        )
        assert hand.execute(missing).fetchone() == (0,)
