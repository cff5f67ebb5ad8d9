"""Notes and facts of people, in the same file as the log; written through its one writer."""

import sqlite3
from collections.abc import Sequence

from phasewalk.machine.shelf import Fact, Note
from phasewalk.machine.text import storable
from phasewalk.storage.writer import Writer


class SqliteShelf:
    """Implements `Shelf`; every write is durable, since a person was told that it is kept."""

    def __init__(self, writer: Writer, reader: sqlite3.Connection) -> None:
        self._writer = writer
        self._reader = reader

    async def add_note(self, user_id: str, channel_id: str, text: str, now_us: int) -> int:
        """See `Shelf.add_note`."""
        row = (user_id, channel_id, storable(text), now_us)
        return await self._insert("INSERT INTO note (user_id, channel_id, text, at_us) VALUES (?, ?, ?, ?)", row)

    async def notes(self, user_id: str, channel_id: str) -> Sequence[Note]:
        """See `Shelf.notes`."""
        rows = self._reader.execute(
            "SELECT number, text, at_us FROM note WHERE user_id = ? AND channel_id = ? ORDER BY number",
            (user_id, channel_id),
        )
        return [Note(*row) for row in rows]

    async def delete_note(self, user_id: str, note_id: int) -> bool:
        """See `Shelf.delete_note`."""
        return await self._delete("DELETE FROM note WHERE user_id = ? AND number = ?", (user_id, note_id))

    async def remember(self, user_id: str, text: str, now_us: int) -> int:
        """See `Shelf.remember`."""
        row = (user_id, storable(text), now_us)
        return await self._insert("INSERT INTO fact (user_id, text, at_us) VALUES (?, ?, ?)", row)

    async def recall(self, user_id: str, query: str) -> Sequence[Fact]:
        """See `Shelf.recall`."""
        rows = self._reader.execute(
            "SELECT number, text, at_us FROM fact WHERE user_id = ? ORDER BY number", (user_id,)
        )
        words = query.casefold().split()
        return [Fact(*row) for row in rows if all(word in row[1].casefold() for word in words)]

    async def forget(self, user_id: str, fact_id: int) -> bool:
        """See `Shelf.forget`."""
        return await self._delete("DELETE FROM fact WHERE user_id = ? AND number = ?", (user_id, fact_id))

    async def _insert(self, sql: str, row: tuple[object, ...]) -> int:
        number = await self._writer.call(lambda connection: connection.execute(sql, row).lastrowid, durable=True)
        return int(str(number))

    async def _delete(self, sql: str, row: tuple[object, ...]) -> bool:
        return bool(await self._writer.call(lambda connection: connection.execute(sql, row).rowcount, durable=True))
