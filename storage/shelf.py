"""Notes, tasks and facts of people, in the same file as the log, and the search of what was said there.

Owns their rows, which are written through the log's one writer, and how a search runs beside the event loop; what
it finds is for `search.py` to say. Does not know who may read which channel.
"""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import field, frozen

from phasewalk.machine.errors import StorageError
from phasewalk.machine.shelf import Fact, Findings, Found, Note, Task
from phasewalk.machine.text import storable
from phasewalk.storage.database import open_for_reading
from phasewalk.storage.search import candidates, holds, take_in, waiting, words_of
from phasewalk.storage.writer import Writer

LOOKED_AT = 200_000
"""Rows that one search reads at most, the newest first."""

_INTERRUPT_EVERY = 20_000
"""After so many steps of SQLite a search looks whether it is still wanted; about a millisecond."""

BEHIND = 2000
"""When so many messages are not in the index yet, a search has some of them taken in first."""

_HEARD = ("(m.state IS NULL OR m.state = 'sent')", "m.channel_id IN (SELECT value FROM json_each(:channels))")


@frozen
class _Search:
    """One search of one file; `words` as `words_of` makes them, `unwanted` set when nobody waits for it any more."""

    path: Path
    channel_ids: tuple[str, ...]
    words: Sequence[str]
    limit: int
    looked_at: int
    unwanted: threading.Event = field(factory=threading.Event)

    def run(self) -> Findings:
        """The newest `limit` rows that hold every word, among the newest `looked_at` that may."""
        connection = open_for_reading(self.path)
        try:
            connection.set_progress_handler(self.unwanted.is_set, _INTERRUPT_EVERY)
            connection.execute("BEGIN")
            channels = {"channels": json.dumps(self.channel_ids)}
            columns = "m.text, m.author, m.at_us, m.channel_id"
            return self._among(candidates(connection, columns, self.words, _HEARD, channels))
        finally:
            connection.close()

    def _among(self, rows: Iterable[tuple[object, ...]]) -> Findings:
        found: list[Found] = []
        back_to_us: int | None = None
        for number, (text, author, at_us, channel_id) in enumerate(rows):
            if len(found) >= self.limit or self.unwanted.is_set():
                break
            if number >= self.looked_at:
                return Findings(tuple(found), back_to_us)
            back_to_us = int(str(at_us))
            if holds(str(text), self.words):
                found.append(Found(str(author), str(text), back_to_us, str(channel_id)))
        return Findings(tuple(found))


class SqliteShelf:
    """Implements `Shelf`; every write is durable, since a person was told that it is kept, and redacted (LOG-10)."""

    def __init__(
        self,
        writer: Writer,
        reader: sqlite3.Connection,
        redact: Callable[[str], str] = str,
        *,
        looked_at: int = LOOKED_AT,
    ) -> None:
        """`reader` is for what takes microseconds; a search opens the same file again, in a thread of its own."""
        self._writer = writer
        self._reader = reader
        self._redact = redact
        self._looked_at = looked_at

    async def add_note(self, user_id: str, channel_id: str, text: str, now_us: int) -> int:
        """See `Shelf.add_note`."""
        row = (user_id, channel_id, self._kept(text), now_us)
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
        return await self._change("DELETE FROM note WHERE user_id = ? AND number = ?", (user_id, note_id))

    async def remember(self, user_id: str, text: str, now_us: int) -> int:
        """See `Shelf.remember`; a fact that is kept already keeps its number and its time."""
        row = (user_id, self._kept(text), now_us)

        def work(connection: sqlite3.Connection) -> int | None:
            known = connection.execute(
                "SELECT number FROM fact WHERE user_id = ? AND text = ? ORDER BY number LIMIT 1", row[:2]
            ).fetchone()
            if known is not None:
                return int(known[0])
            return connection.execute("INSERT INTO fact (user_id, text, at_us) VALUES (?, ?, ?)", row).lastrowid

        return int(str(await self._writer.call(work, durable=True)))

    async def recall(self, user_id: str, query: str) -> Sequence[Fact]:
        """See `Shelf.recall`."""
        rows = self._reader.execute(
            "SELECT number, text, at_us FROM fact WHERE user_id = ? ORDER BY number", (user_id,)
        )
        words = words_of(query)
        return [Fact(*row) for row in rows if holds(row[1], words)]

    async def forget(self, user_id: str, fact_id: int) -> bool:
        """See `Shelf.forget`."""
        return await self._change("DELETE FROM fact WHERE user_id = ? AND number = ?", (user_id, fact_id))

    async def add_task(self, user_id: str, channel_id: str, text: str, due_us: int | None, now_us: int) -> int:
        """See `Shelf.add_task`."""
        row = (user_id, channel_id, self._kept(text), due_us, now_us)
        return await self._insert(
            "INSERT INTO task (user_id, channel_id, text, due_us, at_us) VALUES (?, ?, ?, ?, ?)", row
        )

    async def tasks(self, user_id: str, channel_id: str, *, done: bool) -> Sequence[Task]:
        """See `Shelf.tasks`."""
        rows = self._reader.execute(
            "SELECT number, text, at_us, due_us, done_us FROM task WHERE user_id = ? AND channel_id = ?"
            " AND (? OR done_us IS NULL) ORDER BY number",
            (user_id, channel_id, done),
        )
        return [Task(*row) for row in rows]

    async def complete_task(self, user_id: str, number: int, now_us: int) -> bool:
        """See `Shelf.complete_task`."""
        return await self._change(
            "UPDATE task SET done_us = ? WHERE user_id = ? AND number = ? AND done_us IS NULL",
            (now_us, user_id, number),
        )

    async def search(self, channel_ids: Sequence[str], query: str, limit: int) -> Findings:
        """See `Shelf.search`; reads beside the event loop, and stops when nobody waits for it any more."""
        (path,) = self._reader.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()
        search = _Search(Path(path), tuple(channel_ids), words_of(query), limit, self._looked_at)
        if waiting(self._reader) > BEHIND:
            with suppress(StorageError):  # what is not taken in is read row by row
                await self._writer.call(take_in, durable=True)  # durable ones are written in the writer's thread
        try:
            return await asyncio.to_thread(search.run)
        finally:
            search.unwanted.set()

    def _kept(self, text: str) -> str:
        return storable(self._redact(text))

    async def _insert(self, sql: str, row: tuple[object, ...]) -> int:
        number = await self._writer.call(lambda connection: connection.execute(sql, row).lastrowid, durable=True)
        return int(str(number))

    async def _change(self, sql: str, row: tuple[object, ...]) -> bool:
        return bool(await self._writer.call(lambda connection: connection.execute(sql, row).rowcount, durable=True))
