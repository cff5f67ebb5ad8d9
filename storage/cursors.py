"""How far each channel was heard, so that what was said while nobody listened is caught up with (DIS-03).

Owns the table `channel_cursor`. Invariant: a cursor never goes back.
"""

import sqlite3

from attrs import frozen

from phasewalk.machine.deadlines import Clock
from phasewalk.storage.writer import Writer

_SET = (
    "INSERT INTO channel_cursor (channel_id, guild_id, channel_name, message_id, at_us) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET message_id = excluded.message_id, channel_name = excluded.channel_name,"
    " at_us = excluded.at_us WHERE CAST(excluded.message_id AS INTEGER) > CAST(message_id AS INTEGER)"
)


@frozen
class SqliteCursors:
    """The cursors of one log."""

    writer: Writer
    reader: sqlite3.Connection
    clock: Clock

    def of(self, channel_id: str) -> str | None:
        """The id behind which the channel was not heard yet; it need not be a message's."""
        row = self.reader.execute(
            "SELECT message_id FROM channel_cursor WHERE channel_id = ?", (channel_id,)
        ).fetchone()
        return str(row[0]) if row is not None else None

    def direct(self) -> list[str]:
        """The channels that belong to no server."""
        rows = self.reader.execute("SELECT channel_id FROM channel_cursor WHERE guild_id = '' ORDER BY channel_id")
        return [str(channel) for (channel,) in rows]

    async def advance(self, channel_id: str, guild_id: str, channel_name: str, message_id: str) -> None:
        """Everything up to this id has been heard."""
        row = (channel_id, guild_id, channel_name, message_id, self.clock.now_us())
        await self.writer.call(lambda connection: connection.execute(_SET, row))
