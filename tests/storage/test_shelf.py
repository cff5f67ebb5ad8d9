"""Notes, tasks and facts of people, kept beside the log."""

import pytest

from phasewalk.machine.shelf import Fact, Note, Task
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


async def test_the_same_fact_is_kept_once_for_each_person(shelf: SqliteShelf):
    assert await shelf.remember("ann", "Likes tea", 10) == 1
    assert await shelf.remember("bob", "Likes tea", 20) == 2
    assert await shelf.remember("ann", "Likes tea", 30) == 1
    assert list(await shelf.recall("ann", "")) == [Fact(1, "Likes tea", 10)]


async def test_a_fact_that_was_forgotten_can_be_remembered_under_a_new_number(shelf: SqliteShelf):
    await shelf.remember("ann", "Likes tea", 10)
    await shelf.forget("ann", 1)
    assert await shelf.remember("ann", "Likes tea", 20) == 2


async def test_tasks_are_each_persons_own_and_of_one_channel(shelf: SqliteShelf):
    assert await shelf.add_task("ann", "2", "buy milk", 500, 10) == 1
    assert await shelf.add_task("bob", "2", "buy tea", None, 20) == 2
    assert await shelf.add_task("ann", "3", "call mum", None, 30) == 3
    assert list(await shelf.tasks("ann", "2", done=False)) == [Task(1, "buy milk", 10, 500)]
    assert list(await shelf.tasks("ann", "4", done=True)) == []


async def test_a_task_is_done_once_and_only_by_its_owner(shelf: SqliteShelf):
    await shelf.add_task("ann", "2", "buy milk", 500, 10)
    assert await shelf.complete_task("bob", 1, 20) is False
    assert await shelf.complete_task("ann", 1, 30) is True
    assert await shelf.complete_task("ann", 1, 40) is False
    assert list(await shelf.tasks("ann", "2", done=False)) == []
    assert list(await shelf.tasks("ann", "2", done=True)) == [Task(1, "buy milk", 10, 500, 30)]


@pytest.mark.spec("LOG-05")
async def test_what_cannot_be_stored_is_replaced(shelf: SqliteShelf):
    await shelf.add_note("ann", "2", "a\x00b", 10)
    await shelf.remember("ann", "\ud800", 10)
    await shelf.add_task("ann", "2", "\udfff", None, 10)
    assert [note.text for note in await shelf.notes("ann", "2")] == ["a\N{REPLACEMENT CHARACTER}b"]
    assert [fact.text for fact in await shelf.recall("ann", "")] == ["\N{REPLACEMENT CHARACTER}"]
    assert [task.text for task in await shelf.tasks("ann", "2", done=False)] == ["\N{REPLACEMENT CHARACTER}"]


@pytest.mark.spec("LOG-02")
async def test_all_is_kept_durably_since_its_person_was_told_so(
    log, shelf: SqliteShelf, monkeypatch: pytest.MonkeyPatch
):
    durable: list[bool] = []
    submit = log.writer.submit
    monkeypatch.setattr(log.writer, "submit", lambda unit: (durable.append(unit.durable), submit(unit)))
    await shelf.add_note("ann", "2", "one", 10)
    await shelf.delete_note("ann", 1)
    await shelf.remember("ann", "one", 10)
    await shelf.forget("ann", 1)
    await shelf.add_task("ann", "2", "one", None, 10)
    await shelf.complete_task("ann", 1, 20)
    assert durable == [True] * 6


@pytest.mark.spec("LOG-10")
async def test_secrets_are_taken_out_before_anything_is_kept(log):
    shelf = SqliteShelf(log.writer, log.reader, lambda text: text.replace("hunter22", "[redacted]"))
    await shelf.add_note("ann", "2", "the code is hunter22", 10)
    await shelf.remember("ann", "hunter22 opens it", 10)
    await shelf.add_task("ann", "2", "change hunter22", None, 10)
    assert [note.text for note in await shelf.notes("ann", "2")] == ["the code is [redacted]"]
    assert [fact.text for fact in await shelf.recall("ann", "")] == ["[redacted] opens it"]
    assert [task.text for task in await shelf.tasks("ann", "2", done=False)] == ["change [redacted]"]
