"""Tool calls that wait for a permission, in the file that all processes share (CON-26).

Owns asking, permitting and using up. Does not know which tools need a permission. Invariant: a permission is for
exactly one tool with exactly these arguments and this person, and is used once.
"""

import secrets
import sqlite3

from phasewalk.machine.documents import digest_of
from phasewalk.machine.text import storable
from phasewalk.machine.tooling import ApprovalCall
from phasewalk.storage.redacting import Redact
from phasewalk.storage.writer import Writer

_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""Letters and digits that people do not mix up when they read them out."""

_ID_CHARS = 6
_TAKE = (
    "UPDATE approval SET used_us = ?, used_turn_id = ? WHERE approval_id = (SELECT approval_id FROM approval"
    " WHERE user_id = ? AND tool = ? AND arguments_digest = ? AND used_us IS NULL AND approved_us IS NOT NULL"
    " ORDER BY approved_us LIMIT 1)"
)
_WAITING = (
    "SELECT approval_id FROM approval WHERE user_id = ? AND tool = ? AND arguments_digest = ? AND approved_us IS NULL"
)
_ASK = (
    "INSERT INTO approval (approval_id, turn_id, tool, arguments, arguments_digest, user_id, user_name,"
    " channel_id, asked_us) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_APPROVE = "UPDATE approval SET approved_us = ?, approved_by = ? WHERE approval_id = ? AND approved_us IS NULL"


def approve(connection: sqlite3.Connection, approval_id: str, who: str, now_us: int) -> bool:
    """Permit a waiting call; False when none of this id waits."""
    return connection.execute(_APPROVE, (now_us, who, approval_id)).rowcount == 1


class SqliteApprovals:
    """Implements `Approvals`; both questions go through the one writer, so that two turns never share a permission."""

    def __init__(self, writer: Writer, redact: Redact) -> None:
        self._writer = writer
        self._redact = redact

    async def take(self, call: ApprovalCall) -> bool:
        """See `Approvals.take`."""
        values = (call.now_us, call.turn_id, *_what(call))
        return await self._writer.call(lambda connection: connection.execute(_TAKE, values).rowcount) == 1

    async def ask(self, call: ApprovalCall) -> str:
        """See `Approvals.ask`."""
        _, tool, digest = _what(call)
        what = (call.turn_id, tool, self._redact(storable(call.arguments)), digest)
        who = (call.user_id, self._redact(storable(call.user_name)), call.channel_id, call.now_us)

        def work(connection: sqlite3.Connection) -> str:
            waiting = connection.execute(_WAITING, _what(call)).fetchone()
            if waiting is not None:
                return str(waiting[0])
            name = "".join(secrets.choice(_ALPHABET) for _ in range(_ID_CHARS))
            connection.execute(_ASK, (name, *what, *who))
            return name

        return str(await self._writer.call(work))


def _what(call: ApprovalCall) -> tuple[str, str, str]:
    exact = call.arguments.encode("unicode_escape").decode()  # half a character is nothing else than itself
    return call.user_id, storable(call.tool), digest_of(exact)
