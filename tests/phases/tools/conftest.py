"""A shelf that is kept in lists, the shipped tools on it, and who asks."""

from collections.abc import Callable, Sequence

import pytest
from attrs import define, evolve, field

from phasewalk.machine.shelf import Fact, Findings, Found, Note, Task
from phasewalk.machine.tooling import ToolContext
from phasewalk.phases.tools import history, memory, notes, tasks
from phasewalk.phases.tools.registry import Registry

NOW_US = 1_790_000_000_000_000
"""2026-09-21T14:13:20Z, a Monday."""


@define
class ListShelf:
    """A shelf in memory; numbers count over everybody. What was `said` is found whole, newest first."""

    kept_notes: list[tuple[str, str, Note]] = field(factory=list)
    facts: list[tuple[str, Fact]] = field(factory=list)
    kept_tasks: list[tuple[str, str, Task]] = field(factory=list)
    said: list[Found] = field(factory=list)
    searches: list[tuple[tuple[str, ...], str, int]] = field(factory=list)
    back_to_us: int | None = None
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

    async def add_task(self, user_id: str, channel_id: str, text: str, due_us: int | None, now_us: int) -> int:
        self.last += 1
        self.kept_tasks.append((user_id, channel_id, Task(self.last, text, now_us, due_us)))
        return self.last

    async def tasks(self, user_id: str, channel_id: str, *, done: bool) -> list[Task]:
        own = [task for user, channel, task in self.kept_tasks if (user, channel) == (user_id, channel_id)]
        return [task for task in own if done or task.done_us is None]

    async def complete_task(self, user_id: str, number: int, now_us: int) -> bool:
        for place, (user, channel, task) in enumerate(self.kept_tasks):
            if (user, task.number, task.done_us) == (user_id, number, None):
                self.kept_tasks[place] = (user, channel, evolve(task, done_us=now_us))
                return True
        return False

    async def search(self, channel_ids: Sequence[str], query: str, limit: int) -> Findings:
        self.searches.append((tuple(channel_ids), query, limit))
        return Findings(tuple(self.said), self.back_to_us)


@pytest.fixture
def shelf() -> ListShelf:
    return ListShelf()


@pytest.fixture
def registry(shelf: ListShelf) -> Registry:
    return Registry([tool for family in (notes, memory, tasks, history) for tool in family.tools(shelf)])


@pytest.fixture
def context() -> Callable[..., ToolContext]:
    """Makes the context of a call at `NOW_US`."""

    def make(user: str = "7", channel: str = "9", readable: tuple[str, ...] = ()) -> ToolContext:
        return ToolContext("turn-1", user, "Ana", channel, "general", "1", NOW_US, readable)

    return make
