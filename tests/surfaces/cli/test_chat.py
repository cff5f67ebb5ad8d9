"""`phasewalk chat`: a real process, fed through standard input, answering from the embedded rules."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

PIPE = subprocess.PIPE
COMMAND = (sys.executable, "-m", "phasewalk.surfaces.cli")
FROM_RULES = "no key: answering from rules; set OPENAI_API_KEY or [[providers]] in phasewalk.toml for a model"
GREETING = 'Hello! Ask me something, or say "help".'


class Said(NamedTuple):
    """How a chat ended, and what it wrote."""

    status: int
    out: str
    err: str


class Chat:
    """Runs `phasewalk` in an empty folder, without a key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "COVERAGE_PROCESS_START") if name in os.environ}
        self.process = {"cwd": folder, "env": {**kept, "PYTHONUTF8": "1", "TZ": "UTC"}}

    def __call__(self, said: str | bytes, *options: str, before: tuple[str, ...] = ()) -> Said:
        """Type `said` into a chat until its end; `before` stands in front of the command."""
        typed = said.encode() if isinstance(said, str) else said
        done = subprocess.run(
            [*COMMAND, *before, "chat", *options],
            check=False,
            input=typed,
            capture_output=True,
            timeout=60,
            **self.process,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode())

    def rows(self, query: str) -> list[tuple]:
        with closing(sqlite3.connect(self.folder / "phasewalk.db")) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path)


@pytest.mark.spec("OPS-14")
def test_each_line_is_answered_in_its_turn_and_answers_alone_are_on_standard_output(chat: Chat):
    said = chat("hello\nnote: bring the brass key\nshow my notes\n")
    assert (said.status, said.out.splitlines()) == (
        0,
        [GREETING, "Kept as note 1: bring the brass key", "Your notes here:", "1: bring the brass key"],
    )
    assert chat.rows("SELECT outcome FROM turn") == [("answered",)] * 3


@pytest.mark.spec("OPS-14")
def test_standard_error_says_once_what_answers_and_then_how_each_turn_ended(chat: Chat):
    said = chat("hello\nshow my notes\n")
    turns = [turn_id for (turn_id,) in chat.rows("SELECT turn_id FROM turn ORDER BY turn_id")]
    well = "answered, ok - everything that was due reached its target"
    assert said.err.splitlines() == [FROM_RULES, *(f"turn {turn_id}: {well}" for turn_id in turns)]
    assert len(turns) == 2


def test_empty_lines_are_passed_over(chat: Chat):
    said = chat("\n   \n\t\nhello\n\n")
    assert (said.status, said.out) == (0, f"{GREETING}\n")
    assert chat.rows("SELECT count(*) FROM turn") == [(1,)]


def test_a_last_line_without_an_end_is_answered(chat: Chat):
    assert chat("show my notes\nhello").out.splitlines()[-1] == GREETING


@pytest.mark.spec("OPS-13")
def test_the_end_of_input_at_once_is_no_error_and_no_turn(chat: Chat):
    said = chat("")
    assert (said.status, said.out, said.err) == (0, "", f"{FROM_RULES}\n")
    assert chat.rows("SELECT count(*) FROM turn") == [(0,)]
    assert chat.rows("SELECT command, end_reason FROM process") == [("chat", "finished")]


def test_where_nobody_types_there_is_no_prompt(chat: Chat):
    assert "> " not in chat("hello\n").err


@pytest.mark.parametrize("line", ["/help", "/quit", "exit"])
def test_no_line_is_a_command_each_is_said_to_the_bot(chat: Chat, line):
    said = chat(f"{line}\nhello\n")
    assert (said.status, said.out.splitlines()[-1]) == (0, GREETING)
    assert chat.rows("SELECT text FROM message WHERE role = 'user' ORDER BY entry_id") == [(line,), ("hello",)]


def test_a_line_is_said_directly_to_the_bot_by_the_operator_in_the_console(chat: Chat):
    chat("hello\n")
    assert chat.rows("SELECT channel_name, user_name, addressed_by, kind FROM turn") == [
        ("console", "operator", "direct", "user"),
    ]  # fmt: skip


def test_person_and_channel_can_be_named(chat: Chat):
    chat("hello\n", "--user", "mira", "--channel", "help")
    assert chat.rows("SELECT channel_id, channel_name, user_id, user_name FROM turn") == [
        ("help", "help", "mira", "mira"),
    ]  # fmt: skip


def test_notes_belong_to_the_channel_and_last_from_one_chat_to_the_next(chat: Chat):
    chat("note: bring the brass key\n", "--channel", "help")
    assert "brass" not in chat("show my notes\n").out
    assert chat("show my notes\n", "--channel", "help").out == "Your notes here:\n1: bring the brass key\n"


@pytest.mark.spec("CON-03")
def test_a_line_may_refer_to_the_one_before(chat: Chat):
    said = chat("show my notes\nnote: bring the brass key\nand now?\n", "--json")
    assert [json.loads(line)["outcome"] for line in said.out.splitlines()] == ["answered"] * 3
    body = chat.rows(
        "SELECT c.body FROM contract AS c JOIN turn AS t ON t.contract_hash = c.hash ORDER BY t.turn_id DESC LIMIT 1"
    )[0][0]
    assert "notes_list" in {schema["name"] for schema in json.loads(body)["schemas"]}


@pytest.mark.spec("OPS-14")
def test_with_json_there_is_one_object_a_turn_on_one_line(chat: Chat):
    said = chat("hello\n\nnote: bring the brass key\n", "--json")
    first, second = map(json.loads, said.out.splitlines())
    assert (first["answer"], second["answer"]) == (GREETING, "Kept as note 1: bring the brass key")
    assert [first["turn_id"], second["turn_id"]] == [row[0] for row in chat.rows("SELECT turn_id FROM turn")]
    assert said.err == f"{FROM_RULES}\n"


def test_a_turn_that_cannot_do_what_was_asked_ends_no_chat(chat: Chat):
    said = chat("add lunch to my calendar\nhello\n")
    assert (said.status, said.out) == (0, f"{GREETING}\n")
    assert "[notice] Sorry, I cannot do that here. What is missing: calendar." in said.err.splitlines()
    assert chat.rows("SELECT outcome FROM turn ORDER BY turn_id") == [("unavailable",), ("answered",)]


@pytest.mark.spec("OPS-14")
def test_what_could_move_the_cursor_does_not_come_back(chat: Chat):
    assert chat("note: a\x1b[2J\u202eb\n").out == "Kept as note 1: a [2J b\n"


@pytest.mark.spec("LOG-05")
def test_bytes_that_are_no_text_are_replaced(chat: Chat):
    assert chat(b"note: caf\xe9\n").out == "Kept as note 1: caf\ufffd\n"


@pytest.mark.spec("LOG-10")
def test_a_secret_that_is_typed_does_not_reach_the_log(chat: Chat):
    chat("my key is sk-0123456789abcdefghij\n")
    assert chat.rows("SELECT text FROM message WHERE role = 'user'") == [("my key is [redacted]",)]
    log = b"".join(path.read_bytes() for path in chat.folder.glob("phasewalk.db*"))
    assert b"sk-0123456789abcdefghij" not in log


@pytest.mark.spec("OPS-13")
def test_a_place_that_cannot_be_written_is_one_sentence_and_status_4(chat: Chat):
    said = chat("hello\n", before=("--db", "nowhere/log.db"))
    assert (said.status, said.out) == (4, "")
    assert said.err.startswith("phasewalk: nowhere/log.db: cannot be written ")
    assert len(said.err.splitlines()) == 1


@pytest.mark.spec("OPS-13")
def test_a_file_that_is_no_log_is_one_sentence_and_status_4(chat: Chat):
    with closing(sqlite3.connect(chat.folder / "phasewalk.db")) as connection:
        connection.execute("CREATE TABLE pasta (name TEXT)")
    said = chat("hello\n")
    assert (said.status, said.out) == (4, "")
    assert said.err == "phasewalk: phasewalk.db: an SQLite database, but not a phasewalk log\n"


@pytest.mark.spec("OPS-13")
def test_a_wrong_configuration_is_one_sentence_and_status_2(chat: Chat):
    (chat.folder / "phasewalk.toml").write_text('[bot]\nnmae = "helper"\n', "utf-8")
    said = chat("hello\n")
    assert (said.status, said.out) == (2, "")
    assert "nmae" in said.err
    assert len(said.err.splitlines()) == 1
    assert not (chat.folder / "phasewalk.db").exists()


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("options", [["hello"], ["--json", "--loud"]], ids=str)
def test_a_wrong_option_is_status_2(chat: Chat, options):
    said = chat("hello\n", *options)
    assert (said.status, said.out) == (2, "")
    assert options[-1] in said.err


@pytest.mark.spec("OPS-16")
def test_help_ends_with_examples_and_exit_codes(look):
    text = look("chat", "--help").out
    assert "phasewalk chat --user mira --channel help" in text
    assert " ".join(text.split()).endswith(
        "Exit codes: 0 ended by Ctrl-D, 2 usage or configuration, 4 the log cannot be used, 130 interrupted."
    )


@pytest.mark.spec("TURN-16", "OPS-13")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_nobody_speaks_ends_the_chat_in_order(chat: Chat, number):
    with subprocess.Popen(
        [*COMMAND, "chat"], stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True, **chat.process
    ) as running:
        running.stdin.write("hello\n")
        running.stdin.flush()
        assert running.stdout.readline() == 'Hello! Ask me something, or say "help".\n'
        assert running.stderr.readline().startswith("no key: ")
        assert ": answered, ok - " in running.stderr.readline()
        running.send_signal(number)
        assert (running.wait(30), running.stderr.read()) == (130, "")


@pytest.mark.parametrize("said", [b"hello\r\n", b"hello", b"hello\n\r\n"])
def test_the_end_of_a_line_is_no_part_of_what_was_said(chat: Chat, said: bytes):
    chat(said)
    assert chat.rows("SELECT text FROM message WHERE role = 'user'") == [("hello",)]


@pytest.mark.spec("OPS-14")
def test_json_is_harmless_on_a_terminal_too(chat: Chat):
    said = chat("note: a\u202eb\u009bc\n", "--json")
    assert [c for c in said.out if c in "\u202e\u009b"] == []
