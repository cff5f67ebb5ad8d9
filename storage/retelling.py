"""What people change in or take back of what they said, as far as prompts still show it (DIS-01).

Owns the change of the working window. Invariant: the turn keeps what it was opened with; only what is still to be
shown to a model follows the person.
"""

from attrs import frozen

from phasewalk.machine.text import storable
from phasewalk.storage.redacting import Redact
from phasewalk.storage.writer import Writer

DELETED = "[message deleted]"
"""Stands in the place of what its author, or somebody who may, took back."""

_CHANGE = (
    "UPDATE message SET text = ? WHERE trimmed_us IS NULL AND role = 'user' AND channel_id = ? AND message_id = ?"
    " AND text <> ?"
)


@frozen
class SqliteRetelling:
    """The working window of one log, changed afterwards."""

    writer: Writer
    redact: Redact

    async def edited(self, channel_id: str, message_id: str, text: str) -> None:
        """A message says something else now."""
        await self._change(channel_id, message_id, storable(self.redact(text)))

    async def deleted(self, channel_id: str, message_id: str) -> None:
        """A message does not stand any more."""
        await self._change(channel_id, message_id, DELETED)

    async def _change(self, channel_id: str, message_id: str, text: str) -> None:
        row = (text, channel_id, message_id, text)
        await self.writer.call(lambda connection: connection.execute(_CHANGE, row))
