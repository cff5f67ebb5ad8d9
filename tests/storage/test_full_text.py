"""The full-text index: filled beside the turns, in step with every change, made for files of the version before."""

import shutil
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest
from builders import LogBuilder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phasewalk.machine.text import storable
from phasewalk.storage import migrations, shelf
from phasewalk.storage.database import APPLICATION_ID, open_for_writing
from phasewalk.storage.search import candidates, excerpt, holds, searchable, take_in, waiting, words_of
from phasewalk.storage.shelf import SqliteShelf

INDEX = "SELECT rowid FROM message_index WHERE message_index MATCH ? ORDER BY rowid"
FIRST_INSERT = (
    "INSERT INTO message (channel_id, role, author_id, author, text, at_us) VALUES ('2', ?, '3', 'ann', ?, 1)"
)


def say(log: sqlite3.Connection, *texts: str, role: str = "user") -> None:
    log.executemany(FIRST_INSERT, [(role, text) for text in texts])


def in_index(log: sqlite3.Connection, gram: str) -> list[int]:
    return [rowid for (rowid,) in log.execute(INDEX, (f'"{gram}"',))]


def found(log: sqlite3.Connection, query: str) -> list[str]:
    words = words_of(query)
    return [str(text) for (text,) in candidates(log, "m.text", words) if holds(str(text), words)]


@pytest.fixture
def log(builder: LogBuilder) -> sqlite3.Connection:
    return builder.log


@pytest.mark.spec("LOG-08")
def test_messages_are_taken_in_by_batches_and_found_before_and_after(log):
    say(log, "raid one", "raid two", "raid three")
    assert (waiting(log), in_index(log, "rai"), found(log, "raid")) == (3, [], ["raid three", "raid two", "raid one"])
    assert take_in(log, 2) == 1
    assert (in_index(log, "rai"), found(log, "raid")) == ([1, 2], ["raid three", "raid two", "raid one"])
    assert take_in(log) == 0
    assert take_in(log) == 0
    assert in_index(log, "rai") == [1, 2, 3]


@pytest.mark.spec("LOG-08")
def test_what_tools_returned_is_not_in_the_index(log):
    say(log, "raid", role="tool")
    take_in(log)
    assert (in_index(log, "rai"), waiting(log)) == ([], 0)


@pytest.mark.spec("LOG-08")
@pytest.mark.parametrize("taken_in", [True, False])
def test_the_index_follows_each_change(log, taken_in: bool):
    say(log, "raid one", "raid two")
    if taken_in:
        take_in(log)
    log.execute("UPDATE message SET text = 'dance' WHERE entry_id = 1")
    log.execute("UPDATE message SET role = 'tool' WHERE entry_id = 2")
    log.execute("UPDATE message SET trimmed_us = 5")
    assert (found(log, "raid"), found(log, "dance")) == ([], ["dance"])
    log.execute("UPDATE message SET role = 'user' WHERE entry_id = 2")
    assert found(log, "raid") == ["raid two"]
    log.execute("DELETE FROM message")
    assert (found(log, "raid"), found(log, "dance"), in_index(log, "dan")) == ([], [], [])
    take_in(log)
    say(log, "raid again")  # its number was given before
    assert found(log, "raid") == ["raid again"]


@pytest.mark.spec("LOG-08")
def test_the_index_is_asked_and_not_every_row(log):
    say(log, *(f"text {number}" for number in range(50)), "the raid")
    take_in(log)
    assert len(list(candidates(log, "m.text", ["raid"]))) == 1
    assert len(list(candidates(log, "m.text", ["ra"]))) == 51
    assert len(list(candidates(log, "m.text", ["te", "raid"]))) == 1


@pytest.mark.spec("LOG-08")
def test_a_query_of_any_length_is_no_error(log):
    text = " ".join(f"word{number}" for number in range(3000))
    say(log, text, text[:-1])
    take_in(log)
    assert found(log, text) == [text]
    assert found(log, "x" * 100_000) == []


@pytest.mark.spec("LOG-08")
@pytest.mark.parametrize(
    "query", ['"""', 'a"b', "***", "(((", "AND OR NOT", "^abc", "text:raid", "a-b", "\\\\\\", "{x}", "NEAR(a b)", "'''"]
)
def test_punctuation_means_itself(log, query):
    say(log, f"x{query}y", "something else: abc, raid, a b")
    take_in(log)
    assert found(log, query)[-1] == f"x{query}y"


@pytest.mark.spec("LOG-08")
@pytest.mark.parametrize("query", ["CAFÉHAUS", "cafe\u0301haus", "cafe", "haus"])
@pytest.mark.parametrize("text", ["Caféhaus", "Cafe\u0301haus"])
def test_an_accent_is_found_in_the_index_however_it_is_written(log, text, query):
    say(log, text)
    take_in(log)
    found_by_part = query == "cafe" and text == "Caféhaus"  # there is no plain e in it
    assert found(log, query) == ([] if found_by_part else [text])


PIECES = st.sampled_from(['"', "AND", "NEAR(", "火星人", "🎉", "مرحبا", "ß", "SS", "İ", "é", "e\u0301", "ﬁn", "K", "raid", "RAID", " ", "か\u3099く", "がく"])  # fmt: skip
TEXTS = st.one_of(st.lists(PIECES, max_size=8).map("".join), st.text(max_size=30)).map(storable)


@pytest.mark.spec("LOG-08")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # each example empties the table first
@given(st.lists(TEXTS, max_size=8), st.one_of(TEXTS, st.text(max_size=12)), st.integers(0, 8), st.data())
def test_nothing_that_a_plain_substring_search_finds_is_missed_wherever_the_index_ends(log, texts, query, upto, data):
    if texts and data.draw(st.booleans()):
        source = data.draw(st.sampled_from(texts))
        begin = data.draw(st.integers(0, len(source)))
        query = source[begin : begin + data.draw(st.integers(1, 12))]
    log.execute("DELETE FROM message")
    log.execute("UPDATE message_indexed SET upto_entry_id = 0")
    say(log, *texts)
    take_in(log, upto) if upto else None
    words = query.casefold().split()
    plain = [text for text in reversed(texts) if all(word in text.casefold() for word in words)]
    hits = found(log, query)
    assert [text for text in hits if text in plain] == plain
    assert hits == [text for text in reversed(texts) if holds(text, words_of(query))]


@pytest.mark.spec("LOG-08")
@given(TEXTS, TEXTS)
def test_what_holds_a_word_stands_so_in_the_index(text, query):
    for word in words_of(query):
        if holds(text, [word]):
            forms = [found for found in (word, searchable(word).split("\n")[-1]) if found in searchable(text)]
            assert forms


@pytest.mark.parametrize(
    ("text", "word", "piece"),
    [
        ("one two three four", "three", "…wo three fo…"),
        ("Three", "three", "Three"),
        ("İİİİİ Straße da", "strasse", "…İİ Straße da"),
        ("line\n\nbreak", "line", "line b…"),
        ("nothing here", "elsewhere", "not…"),
        ("", "x", ""),
    ],
)
def test_an_excerpt_shows_the_word_in_one_line(text, word, piece):
    assert excerpt(text, [word], 3, 3) == piece


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A file of schema version 1, as the first migration makes it, with a message in it."""
    path = tmp_path / "older.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for script in ("schema.sql", "views.sql"):
            connection.executescript(files("phasewalk.storage").joinpath(script).read_text("utf-8"))
        connection.execute("CREATE TABLE _sqlite_migrations (migration_set TEXT, name TEXT, applied_at TEXT, PRIMARY KEY (migration_set, name))")  # fmt: skip
        connection.execute("INSERT INTO _sqlite_migrations VALUES ('phasewalk', '0001_the_log', '2026-11-30')")
        say(connection, "Die Straße ist gesperrt", "火")
        connection.execute("INSERT INTO prune_log (at_us, what, before_us, rows) VALUES (5, 'turns', 1000000, 3)")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    return path


@pytest.mark.spec("LOG-04", "LOG-08")
def test_an_older_file_is_copied_aside_and_gets_its_index(older: Path):
    with closing(open_for_writing(older)) as log:
        assert (found(log, "strasse"), found(log, "火"), waiting(log)) == (["Die Straße ist gesperrt"], ["火"], 0)
        assert in_index(log, "ass") == [1]
        assert log.execute("SELECT at, before FROM prune_log").fetchall() == [
            ("1970-01-01T00:00:00.000Z", "1970-01-01T00:00:01.000Z"),
        ]  # fmt: skip
    with closing(sqlite3.connect(older.with_name("older.db.v1.bak"))) as aside:
        assert aside.execute("PRAGMA user_version").fetchone() == (1,)
        assert aside.execute("SELECT count(*) FROM message").fetchone() == (2,)
        assert aside.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'message_index%'").fetchone() == (0,)


@pytest.mark.spec("LOG-04")
def test_a_migrated_file_has_the_schema_of_a_new_one(older: Path, log):
    shape = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE '%migrations%' ORDER BY 1, 2"
    with closing(open_for_writing(older)) as migrated:
        assert migrated.execute(shape).fetchall() == log.execute(shape).fetchall()


@pytest.mark.spec("LOG-04")
def test_an_index_that_cannot_be_made_leaves_the_older_file_as_it_was(older: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(migrations, "prepare", lambda _connection: None)  # its function is not there
    with pytest.raises(Exception, match="searchable"):
        open_for_writing(older)
    with closing(sqlite3.connect(older)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'message_index%'").fetchall() == []


@pytest.mark.spec("LOG-06", "LOG-08")
def test_the_copy_of_a_log_is_read_and_searched_by_plain_sqlite(log, builder: LogBuilder, tmp_path: Path):
    say(log, "the brass key")
    take_in(log)
    builder.close()
    copy = shutil.copy(builder.path, tmp_path / "copy.db")
    with closing(sqlite3.connect(copy)) as plain:
        assert plain.execute(INDEX, ('"bra" AND "ass"',)).fetchall() == [(1,)]
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.spec("LOG-08")
async def test_the_history_tool_has_messages_taken_in_when_many_wait(tmp_path, monkeypatch: pytest.MonkeyPatch):
    from phasewalk.storage.database import open_for_reading
    from phasewalk.storage.writer import Writer

    monkeypatch.setattr(shelf, "BEHIND", 2)
    path = tmp_path / "log.db"
    writer = Writer(open_for_writing(path), path)
    with closing(open_for_reading(path)) as reader:
        await writer.call(lambda connection: say(connection, "raid one", "raid two"))
        kept = SqliteShelf(writer, reader)
        assert len((await kept.search(("2",), "raid", 5)).found) == 2
        assert waiting(reader) == 2
        await writer.call(lambda connection: say(connection, "raid three"))
        assert len((await kept.search(("2",), "raid", 5)).found) == 3
        assert waiting(reader) == 0
        await writer.close()
        say_more = "raid four", "raid five", "raid six"
        with closing(open_for_writing(path)) as other:
            say(other, *say_more)
        assert len((await kept.search(("2",), "raid", 9)).found) == 6  # the writer is closed; nothing is missed
