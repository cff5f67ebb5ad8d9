"""`phasewalk search`: each hit with its time, place, author, the word in its text, and what to type next."""

import json

import pytest
from builders import LogBuilder

from phasewalk.storage.search import take_in

UUID = "6f1c2b1e-9d3c-4c53-8a6e-0d1f2a3b4c5d"


@pytest.fixture(params=[True, False], ids=["in the index", "not in the index yet"])
def indexed(request) -> bool:
    return request.param


def say(builder: LogBuilder, text: str, turn: str | None = None, *, age: float = 60.0, **columns: object) -> str:
    """Something that was said in a turn."""
    turn = turn or builder.turn(age=age)
    values = {
        "turn_id": turn, "channel_id": "200", "role": "user", "author_id": "77", "author": "mira", "text": text,
        "at_us": builder.at(age),
    }  # fmt: skip
    builder.insert("message", **{**values, **columns})
    return turn


@pytest.mark.spec("LOG-08", "OPS-13")
def test_a_hit_tells_when_where_who_what_and_the_next_command(builder: LogBuilder, look, indexed):
    turn = say(builder, "bring the brass key")
    if indexed:
        take_in(builder.log)
    answer = look("search", "BRASS", "--utc")
    head, said, following, times = answer.lines
    assert answer.status == 0
    assert head.endswith("  #general  mira")
    assert (said, following, times) == ("  bring the brass key", f"  next: phasewalk show {turn}", "times: UTC")
    assert look("show", following.split()[-1]).status in (0, 5)


@pytest.mark.spec("LOG-08")
@pytest.mark.parametrize(
    "query", ['"', "AND", "NEAR(", "火", "🎉", "مرحبا", UUID, "*", "%", "'", "-raid", "ß", "' OR 1=1 --"]
)
def test_anything_may_be_looked_for(builder: LogBuilder, look, indexed, query):
    say(builder, f"before {query} after")
    say(builder, "something else")
    if indexed:
        take_in(builder.log)
    answer = look("search", "--json", "--", query)
    assert (answer.status, [item["text"] for item in answer.items]) == (0, [f"before {query} after"])


@pytest.mark.spec("LOG-08", "OPS-13")
def test_nothing_found_is_status_1_and_says_which_period_was_covered(builder: LogBuilder, look):
    say(builder, "bring the brass key")
    answer = look("search", "silver", "--utc")
    assert answer.status == 1
    assert answer.out.startswith("nothing that was said holds 'silver'; the log covers 1 turn from ")
    found = look("search", "silver", "--json")
    assert (found.status, found.items, found.document["coverage"]["turns"]) == (1, [], 1)
    one_a_line = look("search", "silver", "--jsonl")
    assert (one_a_line.status, one_a_line.out) == (1, "")
    assert "the log covers 1 turn" in one_a_line.err


@pytest.mark.spec("OPS-13")
def test_an_empty_log_says_that_it_holds_no_turns(look):
    answer = look("search", "key")
    assert (answer.status, answer.out) == (1, "nothing that was said holds 'key'; the log holds no turns\n")


@pytest.mark.spec("OPS-13")
def test_what_was_pruned_is_told(builder: LogBuilder, look):
    builder.insert("prune_log", at_us=1, what="turns", before_us=1_700_000_000_000_000, rows=4)
    assert "pruned before 2023-11-14" in look("search", "key", "--utc").out


@pytest.mark.spec("LOG-08")
@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], ["key 4", "key 3", "key 2", "key 1"]),
        (["--channel", "general"], ["key 4", "key 2", "key 1"]),
        (["--channel", "#help"], ["key 3"]),
        (["--channel", "201"], ["key 3"]),
        (["--user", "@tom"], ["key 4"]),
        (["--user", "78"], ["key 4"]),
        (["--since", "100s"], ["key 4", "key 3"]),
        (["--until", "100s"], ["key 2", "key 1"]),
        (["--limit", "2"], ["key 4", "key 3"]),
        (["--channel", "general", "--since", "250s", "--until", "100s"], ["key 2"]),
    ],
    ids=str,
)
def test_filters_narrow_the_search(builder: LogBuilder, look, options, found):
    say(builder, "key 1", age=300)
    say(builder, "key 2", age=200)
    say(builder, "key 3", builder.turn(channel_id="201", channel_name="help"), age=90, channel_id="201")
    say(builder, "key 4", builder.turn(user_id="78", user_name="tom"), age=30, author_id="78", author="tom")
    assert [item["text"] for item in look("search", "key", "--json", *options).items] == found


@pytest.mark.spec("OPS-13")
def test_more_than_the_limit_is_told_and_not_hidden(builder: LogBuilder, look):
    for number in range(3):
        say(builder, f"key {number}")
    answer = look("search", "key", "--limit", "2", "--json")
    assert (answer.status, answer.document["truncated"], len(answer.items)) == (0, True, 2)
    assert "phasewalk: these are the newest 2; there are more, see --limit" in answer.err
    assert look("search", "key", "--limit", "3").err == ""


@pytest.mark.spec("LOG-08")
def test_a_person_is_found_by_what_the_bot_answered_too(builder: LogBuilder, look):
    turn = say(builder, "where is the key?")
    say(builder, "under the mat with the key", turn, role="assistant", author="helper", author_id="", state="sent")
    assert [item["role"] for item in look("search", "key", "--user", "mira", "--json").items] == ["assistant", "user"]


@pytest.mark.spec("ENV-32")
def test_what_nobody_heard_is_found_and_marked_and_what_a_tool_returned_was_not_said(builder: LogBuilder, look):
    say(builder, "key lost", role="assistant", state="failed")
    say(builder, "key in doubt", role="assistant", state="in_doubt")
    say(builder, "key of a tool", role="tool")
    lines = look("search", "key").lines
    assert lines[0].endswith("mira (nobody knows whether it arrived)")
    assert lines[3].endswith("mira (not delivered)")
    assert len(lines) == 7


@pytest.mark.spec("OPS-14")
def test_all_keys_stand_in_every_item(builder: LogBuilder, look):
    say(builder, "key")
    builder.insert("message", channel_id="9", role="user", author_id="1", author="", text="key", at_us=1)
    items = look("search", "key", "--json").items
    keys = ["excerpt", "text", "entry_id", "turn_id", "at", "at_us", "channel_id", "channel_name", "role", "author_id",
            "author", "state", "message_id"]  # fmt: skip
    assert [list(item) for item in items] == [keys, keys]
    assert (items[0]["turn_id"], items[0]["at"]) == (None, "1970-01-01T00:00:00.000Z")
    lines = look("search", "key", "--jsonl").lines
    assert [json.loads(line)["entry_id"] for line in lines] == [2, 1]


@pytest.mark.spec("OPS-14")
def test_what_somebody_wrote_cannot_move_the_cursor(builder: LogBuilder, look):
    say(builder, "key \x1b[2J\u202e", author="\x1b]0;owned\x07")
    out = look("search", "key").out
    assert {c for c in out if not c.isprintable()} == {"\n"}
    assert r"\x1b[2J\u202e" in out


@pytest.mark.spec("LOG-08")
def test_a_long_text_is_shown_around_the_word(builder: LogBuilder, look):
    say(builder, "a " * 500 + "brass key" + " z" * 500)
    (said,) = [line for line in look("search", "brass").lines if "brass" in line]
    assert len(said) < 130
    assert said.strip().startswith("…")
    assert said.endswith("…")


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([" "], "TEXT holds nothing but blanks; expected at least one character"),
        ([], "Missing argument 'TEXT...'"),
        (["key", "--limit", "0"], "0 is not in the range"),
        (["key", "--since", "soon"], "'soon' is no time; expected 2h, 7d, 2026-11-30"),
        (["key", "--json", "--jsonl"], "ask for one"),
        (["\udcff"], "TEXT or an option holds bytes that are not UTF-8 text"),
        (["key", "--user", "\udcff"], "TEXT or an option holds bytes that are not UTF-8 text"),
    ],
    ids=repr,
)
def test_wrong_input_is_one_sentence_and_status_2(builder: LogBuilder, look, arguments, sentence):
    answer = look("search", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err


@pytest.mark.spec("OPS-13")
def test_without_a_log_there_is_one_sentence(process, tmp_path):
    answer = process("search", "key", path=tmp_path / "missing.db")
    assert (answer.status, answer.out, len(answer.err.splitlines())) == (4, "", 1)


@pytest.mark.spec("OPS-15")
def test_searching_imports_nothing_heavy_and_writes_nothing(builder: LogBuilder, process):
    import subprocess
    import sys

    say(builder, "key")
    builder.close()
    before = builder.path.read_bytes()
    code = (
        "import sys\nfrom phasewalk.surfaces.cli.main import main\n"
        "try: main(sys.argv[1:], standalone_mode=False)\nexcept SystemExit: pass\n"
        "print([n for n in ('openai', 'discord', 'pydantic', 'transitions', 'attrs', 'asyncio') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--db", str(builder.path), "search", "key"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert builder.path.read_bytes() == before


@pytest.mark.spec("LOG-04", "LOG-08")
def test_a_log_of_the_version_before_is_searched_without_an_index(builder: LogBuilder, look):
    say(builder, "bring the brass key")
    for name in ("message_added", "message_deleted", "message_to_be_changed", "message_changed"):
        builder.log.execute(f"DROP TRIGGER {name}")
    builder.log.execute("DROP TABLE message_indexed")
    builder.log.execute("DROP TABLE message_index")
    builder.log.execute("PRAGMA user_version = 1")
    assert look("search", "brass").status == 0
