"""What all looking commands have in common: light, read-only, harmless, quiet (OPS-13 to OPS-16)."""

import json
import os
import pty
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from builders import GONE, LogBuilder
from click.testing import CliRunner
from older_logs import OLDER, older_log

from phasewalk.machine.errors import UnreadableLogError
from phasewalk.storage import database
from phasewalk.storage.database import SCHEMA_VERSION
from phasewalk.surfaces.cli.main import COMMANDS, main

PROGRAM = (sys.executable, "-m", "phasewalk.surfaces.cli")
COMMAND_LINES = [
    ["status"], ["list"], ["show", "last"], ["stuck"], ["sql"], ["sql", "SELECT * FROM turn"],
    ["status", "--json"], ["list", "--json", "--content"], ["show", "last", "--json", "--detail"], ["stuck", "--json"],
    ["tail"], ["tail", "--json"], ["why", "last"], ["why", "last", "--json"], ["fallback"], ["fallback", "--json"],
    ["stats"], ["stats", "--by", "failure", "--json"], ["search", "n"], ["search", "n", "--json"], ["check"], ["check", "--json"],
    ["diff", "last", "last"], ["export"], ["export", "--format", "otlp-json"], ["report"], ["circuit"], ["diagram", "--turn", "last"],
]  # fmt: skip
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
HOSTILE = "\x1b[2J\x1b]0;owned\x07\n\r\u202egnp\u2066\x9b31m漢字🤞"
DRAWN = ("report", "circuit", "diagram")
"""Commands that are made of the machine's own values, and so of attrs."""
HEAVY = ("openai", "discord", "pydantic", "transitions", "attrs", "attr", "rich", "sqlite_utils", "asyncio")


@pytest.mark.spec("OPS-15", "BAR-08")
@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_looking_imports_nothing_heavy(builder: LogBuilder, arguments):
    builder.turn()
    code = (
        "import sys\nfrom phasewalk.surfaces.cli.main import main\n"
        "try: main(sys.argv[1:], standalone_mode=False)\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--db", str(builder.path), *arguments], check=True, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] in ("[]", *(["['attrs', 'attr']"] if arguments[0] in DRAWN else []))


@pytest.mark.spec("OPS-15")
@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_looking_works_on_a_copy_in_a_folder_that_cannot_be_written(builder: LogBuilder, process, tmp_path, arguments):
    builder.turns(20)  # enough for a verdict
    builder.close()  # the copy is one file
    folder = tmp_path / "evidence"
    folder.mkdir()
    copy = Path(shutil.copy(builder.path, folder / "copy.db"))
    copy.chmod(0o444)
    folder.chmod(0o555)
    before = copy.read_bytes()
    try:
        answer = process(*arguments, path=copy)
    finally:
        folder.chmod(0o755)
    assert answer.status in (0, 1)
    assert answer.out
    assert copy.read_bytes() == before
    assert [path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm"))] == ["copy.db"]


@pytest.mark.spec("OPS-15", "LOG-14")
def test_looking_goes_on_while_somebody_writes(builder: LogBuilder, look):
    builder.turns(20)
    builder.log.execute("BEGIN IMMEDIATE")
    builder.turn()
    assert {look(*arguments).status for arguments in COMMAND_LINES} <= {0, 1}
    assert len(look("list", "--json").items) == 20
    builder.log.execute("COMMIT")
    assert len(look("list", "--json").items) == 21


@pytest.mark.spec("OPS-13", "OPS-15")
@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_what_cannot_be_read_is_one_sentence_and_status_4(builder: LogBuilder, look, arguments):
    builder.log.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    answer = look(*arguments)
    assert (answer.status, answer.out) == (4, "")
    (sentence,) = answer.err.splitlines()
    assert sentence.startswith(f"phasewalk: {builder.path}: written with schema version {SCHEMA_VERSION + 1}")


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_a_missing_file_and_one_that_is_no_database_are_one_sentence_too(process, tmp_path, arguments):
    other = tmp_path / "other.db"
    for text in (None, "hello " * 1000):
        if text is not None:
            other.write_text(text)
        answer = process(*arguments, path=other)
        assert (answer.status, answer.out) == (4, "")
        (sentence,) = answer.err.splitlines()
        assert sentence.startswith(f"phasewalk: {other}: ")


@pytest.mark.spec("OPS-13")
def test_a_damaged_page_is_no_empty_answer(builder: LogBuilder, process):
    builder.turns(400)
    builder.damage()
    answer = process("list", "--user", "nobody", "--json")
    assert (answer.status, answer.out) == (4, "")
    assert "cannot be read" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_what_somebody_wrote_is_harmless_everywhere(builder: LogBuilder, look, arguments):
    builder.process(pid=GONE, command=HOSTILE)
    turn = builder.turn(
        outcome=None, phase="classify", text=HOSTILE, channel_name=HOSTILE, user_name=HOSTILE, channel_id=HOSTILE
    )
    builder.enter(turn, "classify", 0, detail={"note": HOSTILE})
    builder.attempt(turn, 1, provider=HOSTILE, model=HOSTILE, status="failed", reason="http_5xx", message=HOSTILE)
    builder.effect(turn, "answer", HOSTILE, None, {"text": HOSTILE})
    builder.insert("log_loss", at_us=1, turn_id=turn, rows=1, what=HOSTILE)
    answer = look(*arguments)
    assert {c for c in answer.out + answer.err if not c.isprintable()} <= {"\n"}
    assert len(answer.out) > 80


@pytest.mark.spec("OPS-14")
def test_json_holds_what_was_written_and_is_harmless_all_the_same(builder: LogBuilder, look):
    builder.turn(text=HOSTILE, user_name="\U000e0041\x7f")
    (item,) = look("list", "--json", "--content").items
    assert (item["text"], item["user_name"]) == (HOSTILE, "\U000e0041\x7f")


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize("command", [["list", "--json"], ["show", "last", "--json"], ["stuck", "--json"],
                                     ["status", "--json"], ["sql", "SELECT 1", "--json"], ["sql", "--json"], ["tail", "--json"]], ids=" ".join)  # fmt: skip
def test_the_object_around_the_items_is_always_the_same(builder: LogBuilder, look, command):
    builder.turn()
    document = look(*command).document
    assert list(document) == ["schema_version", "as_of", "coverage", "truncated", "items"]
    assert list(document["coverage"]) == ["from", "to", "turns", "pruned_before", "rows_lost"]
    assert (document["schema_version"], document["truncated"]) == (1, False)
    assert document["as_of"].endswith("Z")


def piped(arguments: list[str], path: Path, reads: int) -> tuple[int, str]:
    """Status and standard error of a command whose reader goes away after so many bytes."""
    with subprocess.Popen(
        [*PROGRAM, "--db", str(path), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=0
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        os.read(running.stdout.fileno(), reads)
        running.stdout.close()
        said = running.stderr.read()
        return running.wait(), said


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize("command", [["list", "--limit", "3000"], ["list", "--limit", "3000", "--jsonl"],
                                     ["list", "--limit", "3000", "--json"], ["sql", "SELECT * FROM turn", "--csv"]], ids=" ".join)  # fmt: skip
def test_a_reader_that_goes_away_is_no_error(builder: LogBuilder, command):
    builder.log.execute("BEGIN")
    builder.turns(2000)
    builder.log.execute("COMMIT")
    assert piped(command, builder.path, 10) == (0, "")


@pytest.mark.spec("OPS-14")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_one_sentence(builder: LogBuilder):
    builder.turn()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, "--db", str(builder.path), "list"], check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (
        4, "phasewalk: standard output cannot be written (No space left on device)\n",
    )  # fmt: skip


@pytest.mark.spec("OPS-14")
def test_a_terminal_that_knows_ascii_only_gets_escapes_and_no_traceback(builder: LogBuilder, process):
    builder.turn(user_name="漢字")
    answer = process("list", environment={"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert answer.status == 0
    assert r"\u6f22\u5b57" in answer.out


def on_terminal(path: Path, *arguments: str, **environment: str) -> str:
    """What a terminal of 80 columns is shown."""
    master, slave = pty.openpty()
    kept = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "80", "PYTHONUTF8": "1"}
    with subprocess.Popen(
        [*PROGRAM, "--db", str(path), *arguments], stdout=slave, stdin=slave, env={**kept, **environment}
    ) as running:
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        running.wait()
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.spec("OPS-14")
def test_a_terminal_gets_colour_and_lines_of_its_width(builder: LogBuilder):
    builder.turn(user_name="m" * 200, text="word " * 60)
    shown = on_terminal(builder.path, "list", "--content")
    assert shown.startswith("\x1b[1mSTARTED")
    plain = shown.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert max(map(len, plain)) <= 80
    assert plain[1].endswith("…")
    assert "…" not in "".join(plain[2:])  # a text is broken into lines, and not cut


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_colour_is_left_out_where_it_is_not_wanted_and_nothing_else_with_it(builder: LogBuilder, environment):
    builder.turns(30, outcome="stopped", reason="http_5xx")
    shown = on_terminal(builder.path, "status", **environment)
    assert "\x1b" not in shown
    assert shown.startswith("NOT WELL: 30 of 30 turns")


@pytest.mark.spec("OPS-14")
def test_nothing_is_cut_and_nothing_coloured_when_piped(builder: LogBuilder, look):
    builder.turn(user_name="m" * 200)
    out = look("list").out
    assert "m" * 200 in out
    assert "\x1b" not in out


@pytest.mark.spec("OPS-16")
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_ends_with_two_examples_and_the_exit_codes(look, name):
    answer = look(*name.split(), "--help")
    assert answer.status == 0
    _, _, end = answer.out.partition("Examples:\n")
    examples, _, codes = end.partition("Exit codes: ")
    assert len([line for line in examples.splitlines() if "phasewalk" in line]) == 2
    assert codes.startswith("0 ")


@pytest.mark.spec("BAR-08")
def test_the_help_of_all_commands_imports_none_of_them():
    code = (
        "import sys\nfrom phasewalk.surfaces.cli.main import main\n"
        "try: main(['--help'], standalone_mode=False)\nexcept SystemExit: pass\n"
        "print(sorted(n for n in sys.modules if n.startswith('phasewalk.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == str(
        ["phasewalk.surfaces", "phasewalk.surfaces.cli", "phasewalk.surfaces.cli.exits", "phasewalk.surfaces.cli.main"]
    )


@pytest.mark.spec("OPS-14")
def test_jsonl_is_one_object_a_line(builder: LogBuilder, look):
    turns = builder.turns(3)
    lines = look("list", "--jsonl").lines
    assert [json.loads(line)["turn_id"] for line in lines] == turns[::-1]


def test_an_answer_is_of_one_moment(builder: LogBuilder, monkeypatch):
    from phasewalk.surfaces.cli.where import opened_log

    builder.turn()
    with opened_log({"db": builder.path, "config": None}) as log:
        assert log.execute("SELECT count(*) FROM turn").fetchone() == (1,)
        builder.turn()
        assert log.execute("SELECT count(*) FROM turn").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            log.execute("DELETE FROM turn")


@pytest.mark.spec("LOG-04", "OPS-15")
@pytest.mark.parametrize("version", OLDER)
def test_a_file_of_an_older_version_answers_every_question(tmp_path, version):
    path = older_log(tmp_path / "older.db", version)
    before = path.read_bytes()
    for arguments in [*COMMAND_LINES, ["export", "--format", "csv"], ["diagram", "--heat"], ["approve"]]:
        done = CliRunner().invoke(main, ["--db", str(path), *arguments])
        assert done.exit_code in (0, 1), (arguments, done.stderr)
    assert path.read_bytes() == before


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("asked", [("sql", ENDLESS), ("list", "--where", f"({ENDLESS}) > 0")])
def test_ctrl_c_ends_a_query_at_work(builder: LogBuilder, asked: tuple[str, ...]):
    builder.turn()
    program = [sys.executable, "-m", "phasewalk.surfaces.cli", "--db", str(builder.path), *asked]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err.strip()) == (130, "", "")


@pytest.mark.spec("OPS-14", "OPS-13")
@pytest.mark.parametrize("command", ["check >&-", "status >&-", "list >&-", "show - <&-", "stuck 2>&-"])
def test_a_closed_stream_is_quiet(builder: LogBuilder, command: str):
    builder.turn()
    program = f"{sys.executable} -m phasewalk.surfaces.cli --db {builder.path} {command}"
    done = subprocess.run(program, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 3, 4)


@pytest.mark.spec("OPS-13")
def test_a_locked_log_is_one_sentence_and_no_older_answer(builder: LogBuilder, monkeypatch):
    builder.turn()
    monkeypatch.setattr(database, "READ_PATIENCE_MS", 50)
    with closing(sqlite3.connect(builder.path, isolation_level=None)) as other:
        builder.log.close()
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE turn SET flags = NULL")
        other.execute("COMMIT")
        with pytest.raises(UnreadableLogError, match="locked by another process"):
            database.open_for_reading(builder.path)


@pytest.mark.spec("OPS-13")
def test_an_empty_file_is_said_to_be_empty(look, tmp_path):
    (tmp_path / "empty.db").touch()
    with pytest.raises(UnreadableLogError, match="empty, no turn was ever written to it"):
        database.open_for_reading(tmp_path / "empty.db")


@pytest.mark.spec("OPS-15", "OPS-13")
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs a second user to look as")
def test_what_stands_in_the_wal_counts_in_a_folder_that_cannot_be_written(builder: LogBuilder, tmp_path):
    builder.turn()
    copied = tmp_path / "copied"
    copied.mkdir()
    for ending in ("", "-wal"):
        shutil.copyfile(f"{builder.path}{ending}", copied / f"log.db{ending}")
        (copied / f"log.db{ending}").chmod(0o644)
    copied.chmod(0o555)
    for folder in (copied, *copied.parents):
        if not folder.stat().st_mode & 0o001:
            pytest.skip("the folder of the tests cannot be entered by another user")
    code = "import sys; from pathlib import Path; from phasewalk.storage.database import open_for_reading as o; print(o(Path(sys.argv[1])).execute('SELECT count(*) FROM turn').fetchone()[0])"
    asked = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-c", code]
    done = subprocess.run([*asked, str(copied / "log.db")], capture_output=True, text=True, check=False, cwd="/")
    if "ModuleNotFoundError" in done.stderr or "Permission" in done.stderr:
        pytest.skip("the program cannot be run by another user here")
    assert done.stdout == "1\n", done.stderr
