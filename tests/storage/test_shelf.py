"""Notes and facts of people, kept beside the log."""

import pytest

from phasewalk.machine.shelf import Fact, Note
from phasewalk.storage.history import SqliteMemory
from phasewalk.storage.shelf import SqliteShelf


@pytest.fixture
def shelf(log) -> SqliteShelf:
    return SqliteShelf(log.writer, log.reader)


async def test_notes_are_each_persons_own_and_of_one_channel(shelf: SqliteShelf):
    assert await shelf.add_note("ann", "2", "buy milk", 10) == 1
    assert await shelf.add_note("bob", "2", "buy tea", 20) == 2
    assert await shelf.add_note("ann", "3", "call mum", 30) == 3
    assert list(await shelf.notes("ann", "2")) == [Note(1, "buy milk", 10)]
    assert list(await shelf.notes("ann", "4")) == []


async def test_the_number_of_a_deleted_note_is_never_given_again(shelf: SqliteShelf):
    await shelf.add_note("ann", "2", "one", 10)
    assert await shelf.delete_note("bob", 1) is False
    assert await shelf.delete_note("ann", 1) is True
    assert await shelf.delete_note("ann", 1) is False
    assert await shelf.add_note("ann", "2", "two", 20) == 2


async def test_facts_are_found_by_all_words_of_a_query_in_any_case(shelf: SqliteShelf):
    await shelf.remember("ann", "Likes green TEA", 10)
    await shelf.remember("ann", "Plays a druid", 20)
    await shelf.remember("bob", "Likes tea", 30)
    assert list(await shelf.recall("ann", "tea likes")) == [Fact(1, "Likes green TEA", 10)]
    assert [fact.number for fact in await shelf.recall("ann", "")] == [1, 2]
    assert list(await shelf.recall("ann", "coffee")) == []


async def test_a_forgotten_fact_is_gone_from_recall_and_from_prompts(log, shelf: SqliteShelf):
    await shelf.remember("ann", "Likes tea", 10)
    await shelf.remember("ann", "Plays a druid", 20)
    assert await shelf.forget("bob", 1) is False
    assert await shelf.forget("ann", 1) is True
    assert list(await SqliteMemory(log.reader).remembered("ann")) == ["Plays a druid"]
    assert list(await SqliteMemory(log.reader).remembered("bob")) == []


@pytest.mark.spec("LOG-05")
async def test_what_cannot_be_stored_is_replaced(shelf: SqliteShelf):
    await shelf.add_note("ann", "2", "a\x00b", 10)
    await shelf.remember("ann", "\ud800", 10)
    assert [note.text for note in await shelf.notes("ann", "2")] == ["a\N{REPLACEMENT CHARACTER}b"]
    assert [fact.text for fact in await shelf.recall("ann", "")] == ["\N{REPLACEMENT CHARACTER}"]


@pytest.mark.spec("LOG-02")
async def test_a_note_is_kept_durably_since_its_person_was_told_so(
    log, shelf: SqliteShelf, monkeypatch: pytest.MonkeyPatch
):
    durable: list[bool] = []
    submit = log.writer.submit
    monkeypatch.setattr(log.writer, "submit", lambda unit: (durable.append(unit.durable), submit(unit)))
    await shelf.add_note("ann", "2", "one", 10)
    await shelf.delete_note("ann", 1)
    assert durable == [True, True]
