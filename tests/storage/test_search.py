"""The search of what was said, on a real file."""

import asyncio
import threading
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phasewalk.machine.shelf import Found
from phasewalk.machine.text import storable
from phasewalk.storage import shelf as shelf_module
from phasewalk.storage.search import take_in
from phasewalk.storage.shelf import SqliteShelf

UUID = "6f1c2b1e-9d3c-4c53-8a6e-0d1f2a3b4c5d"
INSERT = "INSERT INTO message (channel_id, role, author_id, author, text, at_us, state) VALUES (?, ?, '3', ?, ?, ?, ?)"

PIECES = st.sampled_from(
    ['"', "AND", "NEAR(", "火", "🎉", "👩‍👩‍👧", "مرحبا", UUID, "ß", "SS", "İ", "é", "e\u0301", "%", "_", "*", "\\", "'", "NULL", "-", "raid", "RAID", " "]
)  # fmt: skip
TEXTS = st.one_of(st.lists(PIECES, max_size=6).map("".join), st.text(max_size=30)).map(storable)


async def say(log, *texts: str, channel: str = "2", role: str = "user", state: str | None = None) -> None:
    """Keep what was said, one after another, at 1, 2, 3, ... microseconds."""
    rows = [(channel, role, "ann", text, number, state) for number, text in enumerate(texts, 1)]
    await log.writer.call(lambda connection: connection.executemany(INSERT, rows))


@pytest.fixture
def shelf(log) -> SqliteShelf:
    return SqliteShelf(log.writer, log.reader)


async def found(shelf: SqliteShelf, query: str, *channels: str, limit: int = 10) -> list[str]:
    return [hit.text for hit in (await shelf.search(channels or ("2",), query, limit)).found]


@pytest.mark.spec("LOG-08")
@pytest.mark.parametrize("query", ['"', "AND", "NEAR(", "火", "🎉", "مرحبا", UUID, "*", "%", "'", "raid*", "-raid"])
async def test_any_language_and_any_punctuation_is_found_as_it_stands(log, shelf, query):
    await say(log, f"before{query}after", "something else")
    assert await found(shelf, query) == [f"before{query}after"]


@pytest.mark.spec("LOG-08")
async def test_every_word_must_be_there_in_any_order_and_case(log, shelf):
    await say(log, "The RAID moved to Friday", "raid on Monday", "Friday is free")
    assert await found(shelf, "friday Raid") == ["The RAID moved to Friday"]


@pytest.mark.spec("LOG-08")
@pytest.mark.parametrize(("said", "query"), [("STRASSE", "straße"), ("Straße", "STRASSE"), ("ΣΊΣΥΦΟΣ", "σίσυφος")])
async def test_case_is_folded_in_every_language(log, shelf, said, query):
    await say(log, said)
    assert await found(shelf, query) == [said]


@pytest.mark.spec("LOG-08")
@pytest.mark.parametrize(("said", "query"), [("NFC", "NFD"), ("NFD", "NFC")])
async def test_an_accent_is_found_however_it_is_written(log, shelf, said, query):
    text = unicodedata.normalize(said, "Café")
    await say(log, text)
    assert await found(shelf, unicodedata.normalize(query, "café")) == [text]


async def test_a_finding_says_who_said_it_when_and_where(log, shelf):
    await say(log, "the raid")
    assert list((await shelf.search(("2",), "raid", 10)).found) == [Found("ann", "the raid", 1, "2")]


async def test_only_the_channels_asked_for_are_searched(log, shelf):
    await say(log, "raid here")
    await say(log, "raid there", channel="3")
    await say(log, "raid elsewhere", channel="4")
    assert await found(shelf, "raid", "2", "3") == ["raid there", "raid here"]
    assert list((await shelf.search((), "raid", 10)).found) == []


async def test_the_newest_come_first_and_no_more_than_the_limit(log, shelf):
    await say(log, "raid 1", "raid 2", "raid 3")
    assert await found(shelf, "raid", limit=2) == ["raid 3", "raid 2"]


@pytest.mark.spec("ENV-32")
async def test_tools_and_what_nobody_saw_were_not_said(log, shelf):
    await say(log, "raid of a person")
    await say(log, "raid sent", role="assistant", state="sent")
    await say(log, "raid failed", role="assistant", state="failed")
    await say(log, "raid in doubt", role="assistant", state="in_doubt")
    await say(log, "raid of a tool", role="tool")
    assert await found(shelf, "raid") == ["raid sent", "raid of a person"]


@pytest.mark.spec("ENV-36")
async def test_what_left_the_window_of_prompts_is_still_found(log, shelf):
    await say(log, "raid")
    await log.writer.call(lambda connection: connection.execute("UPDATE message SET trimmed_us = 5"))
    assert await found(shelf, "raid") == ["raid"]


async def test_a_search_that_stops_early_says_how_far_back_it_looked(log):
    await say(log, "raid 1", "two", "three", "raid 4")
    await say(log, "raid in a channel that nobody asked for", channel="3")
    findings = await SqliteShelf(log.writer, log.reader, looked_at=3).search(("2",), "ra", 10)
    assert ([hit.text for hit in findings.found], findings.back_to_us) == (["raid 4"], 2)


@pytest.mark.spec("LOG-08")
async def test_what_the_index_passes_over_does_not_count_as_looked_at(log):
    await say(log, "raid 1", "two", "three", "raid 4")
    await log.writer.call(take_in)
    findings = await SqliteShelf(log.writer, log.reader, looked_at=2).search(("2",), "raid", 10)
    assert ([hit.text for hit in findings.found], findings.back_to_us) == (["raid 4", "raid 1"], None)


@pytest.mark.parametrize(("looked_at", "limit"), [(4, 10), (2, 1)])
async def test_a_search_that_read_all_or_found_enough_has_no_such_limit(log, looked_at, limit):
    await say(log, "raid 1", "two", "three", "raid 4")
    findings = await SqliteShelf(log.writer, log.reader, looked_at=looked_at).search(("2",), "raid", limit)
    assert findings.back_to_us is None


async def test_a_query_without_words_finds_whatever_was_said_last(log, shelf):
    await say(log, "one", "two")
    assert await found(shelf, " ", limit=1) == ["two"]


async def test_a_search_runs_beside_the_event_loop(log, shelf, monkeypatch):
    seen: list[threading.Thread] = []
    monkeypatch.setattr(shelf_module, "holds", lambda _text, _words: bool(seen.append(threading.current_thread())))
    await say(log, "raid")
    await shelf.search(("2",), "raid", 10)
    assert len(seen) == 1
    assert threading.main_thread() not in seen


async def test_a_search_that_nobody_waits_for_stops(log, shelf, monkeypatch):
    begun, go_on = asyncio.Event(), threading.Event()
    loop, looked_at = asyncio.get_running_loop(), []

    def holds(text: str, words: Sequence[str]) -> bool:
        looked_at.append(text)
        loop.call_soon_threadsafe(begun.set)
        return not go_on.wait(30)

    monkeypatch.setattr(shelf_module, "holds", holds)
    await say(log, *(f"raid {number}" for number in range(100)))
    searching = asyncio.ensure_future(shelf.search(("2",), "raid", 10))
    await begun.wait()
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    go_on.set()
    await loop.shutdown_default_executor()
    assert looked_at == ["raid 99"]


@pytest.mark.spec("LOG-08")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # each example empties the table first
@given(st.lists(TEXTS, max_size=12), st.one_of(TEXTS, st.text(max_size=12)), st.data())
async def test_nothing_that_a_plain_substring_search_finds_is_missed(log, texts, query, data):
    if texts and data.draw(st.booleans()):
        source = data.draw(st.sampled_from(texts))
        begin = data.draw(st.integers(0, len(source)))
        query = source[begin : begin + data.draw(st.integers(1, 10))]
    await log.writer.call(lambda connection: connection.execute("DELETE FROM message"))
    await say(log, *texts)
    words = [word.casefold() for word in query.split()]
    plain = [text for text in reversed(texts) if all(word in text.casefold() for word in words)]
    hits = await found(SqliteShelf(log.writer, log.reader), query, limit=100)
    assert [text for text in hits if text in plain] == plain
