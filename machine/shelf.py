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


class Shelf(Protocol):
    """Where notes and facts are kept, each person's apart from everybody else's."""

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
