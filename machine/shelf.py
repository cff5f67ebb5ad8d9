"""What the offline tools need of storage, as a protocol; knows no database.

Invariant: numbers are given once and never again, so that "delete note 3" means the same note tomorrow.
"""

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen


@frozen
class Note:
    """A note that a person keeps. `at_us` is when it was written, microseconds since the epoch."""

    number: int
    text: str
    at_us: int


@frozen
class Fact:
    """Something to remember about a person. `at_us` as in `Note`."""

    number: int
    text: str
    at_us: int


@frozen
class Task:
    """Something to do. `due_us` and `done_us` are microseconds since the epoch, None where there is none."""

    number: int
    text: str
    at_us: int
    due_us: int | None = None
    done_us: int | None = None


@frozen
class Found:
    """Something that was said in a channel; `at_us` as in `Note`."""

    author: str
    text: str
    at_us: int
    channel_id: str


@frozen
class Findings:
    """What a search found, newest first; `back_to_us` says how far back it looked where it did not see everything."""

    found: tuple[Found, ...] = ()
    back_to_us: int | None = None


class Shelf(Protocol):
    """Where notes, tasks and facts are kept, each person's apart from everybody else's."""

    async def add_note(self, user_id: str, channel_id: str, text: str, now_us: int) -> int:
        """Keep a note; its number."""

    async def notes(self, user_id: str, channel_id: str) -> Sequence[Note]:
        """The person's notes of this channel, oldest first."""

    async def delete_note(self, user_id: str, note_id: int) -> bool:
        """Delete one of the person's notes; False when there is none of this number."""

    async def remember(self, user_id: str, text: str, now_us: int) -> int:
        """Keep a fact; its number."""

    async def recall(self, user_id: str, query: str) -> Sequence[Fact]:
        """The facts about the person that match `query`, oldest first; all for an empty query."""

    async def forget(self, user_id: str, fact_id: int) -> bool:
        """Forget one fact; False when there is none of this number."""

    async def add_task(self, user_id: str, channel_id: str, text: str, due_us: int | None, now_us: int) -> int:
        """Keep a task; its number."""

    async def tasks(self, user_id: str, channel_id: str, *, done: bool) -> Sequence[Task]:
        """The person's tasks of this channel, oldest first; those that are done only with `done`."""

    async def complete_task(self, user_id: str, number: int, now_us: int) -> bool:
        """Mark one of the person's tasks as done; False when none of this number is open."""

    async def search(self, channel_ids: Sequence[str], query: str, limit: int) -> Findings:
        """What was said in these channels and holds every word of `query`, newest first; notices are not said."""
