"""Notes and memory on a shelf that is kept in lists."""

import json

import pytest
from attrs import define, field

from phasewalk.machine.ports import ToolContext
from phasewalk.machine.shelf import Fact, Note
from phasewalk.phases.tools import memory, notes
from phasewalk.phases.tools.registry import Registry

NOW_US = 1_790_000_000_000_000


@define
class ListShelf:
    """A shelf in memory; numbers count over everybody, as the database's do."""

    kept_notes: list[tuple[str, str, Note]] = field(factory=list)
    facts: list[tuple[str, Fact]] = field(factory=list)
    last: int = 0

    async def add_note(self, user_id: str, channel_id: str, text: str, now_us: int) -> int:
        self.last += 1
        self.kept_notes.append((user_id, channel_id, Note(self.last, text, now_us)))
        return self.last

    async def notes(self, user_id: str, channel_id: str) -> list[Note]:
        return [note for user, channel, note in self.kept_notes if (user, channel) == (user_id, channel_id)]

    async def delete_note(self, user_id: str, note_id: int) -> bool:
        left = [row for row in self.kept_notes if (row[0], row[2].number) != (user_id, note_id)]
        found = len(left) < len(self.kept_notes)
        self.kept_notes = left
        return found

    async def remember(self, user_id: str, text: str, now_us: int) -> int:
        self.last += 1
        self.facts.append((user_id, Fact(self.last, text, now_us)))
        return self.last

    async def recall(self, user_id: str, query: str) -> list[Fact]:
        return [fact for user, fact in self.facts if user == user_id and query in fact.text]

    async def forget(self, user_id: str, fact_id: int) -> bool:
        left = [row for row in self.facts if (row[0], row[1].number) != (user_id, fact_id)]
        found = len(left) < len(self.facts)
        self.facts = left
        return found


def context(user: str = "7", channel: str = "9") -> ToolContext:
    return ToolContext("turn-1", user, "Ana", channel, "general", "1", NOW_US)


@pytest.fixture
def registry() -> Registry:
    shelf = ListShelf()
    return Registry([*notes.tools(shelf), *memory.tools(shelf)])


def test_six_tools_ship_and_only_list_and_recall_read(registry):
    assert {name: (info.family, info.mutating) for name, info in registry.all().items()} == {
        "notes_add": ("notes", True),
        "notes_list": ("notes", False),
        "notes_delete": ("notes", True),
        "memory_remember": ("memory", True),
        "memory_recall": ("memory", False),
        "memory_forget": ("memory", True),
    }


async def test_a_note_is_kept_and_listed_in_its_channel_only(registry):
    added = await registry.run("notes_add", '{"text": "  the raid moved "}', context())
    listed = await registry.run("notes_list", "{}", context())
    assert added == {"added": 1, "text": "the raid moved"}
    assert listed == {"notes": [{"number": 1, "text": "the raid moved", "at": "2026-09-21T14:13:20Z"}]}
    assert await registry.run("notes_list", "{}", context(channel="10")) == {"notes": []}


async def test_a_note_is_deleted_once_and_only_by_its_owner(registry):
    await registry.run("notes_add", '{"text": "x"}', context())
    assert await registry.run("notes_delete", '{"number": 1}', context(user="8")) == {"deleted": False, "number": 1}
    assert await registry.run("notes_delete", '{"number": 1}', context()) == {"deleted": True, "number": 1}
    assert await registry.run("notes_delete", '{"number": 1}', context()) == {"deleted": False, "number": 1}


async def test_a_fact_is_remembered_recalled_and_forgotten(registry):
    await registry.run("memory_remember", '{"text": "likes tea"}', context())
    fact = {"number": 1, "text": "likes tea", "at": "2026-09-21T14:13:20Z"}
    assert await registry.run("memory_recall", "{}", context(channel="10")) == {"facts": [fact]}
    assert await registry.run("memory_recall", '{"query": "coffee"}', context()) == {"facts": []}
    assert await registry.run("memory_forget", '{"number": 1}', context()) == {"forgotten": True, "number": 1}
    assert await registry.run("memory_recall", "{}", context()) == {"facts": []}


@pytest.mark.parametrize("text", ["", "   ", "x" * 4001])
def test_blank_and_endless_texts_are_refused(registry, text):
    assert registry.problem_with("notes_add", json.dumps({"text": text})) is not None
    assert registry.problem_with("memory_remember", json.dumps({"text": text})) is not None


@pytest.mark.parametrize("number", ["0", "-1", "1.5", '"3"', "true", "1e400"])
def test_numbers_that_the_shelf_never_gave_are_refused(registry, number):
    assert registry.problem_with("notes_delete", f'{{"number": {number}}}') is not None
