"""Turns that have not ended and that nobody walks any more (TURN-14).

Owns when a turn counts as left alone: its process has ended or is gone, or its lease ran out. Changes nothing.
"""

import socket
import sqlite3
from typing import NamedTuple

from phasewalk.machine.trigger import kind_of
from phasewalk.storage.process import is_alive


class Unfinished(NamedTuple):
    """A turn that was left alone. `why` is `process_gone` or `lease_expired`."""

    turn_id: str
    machine: str
    trigger_key: str
    phase: str
    claims: int
    why: str

    @property
    def kind(self) -> str:
        """What heard it."""
        return kind_of(self.trigger_key)


_OPEN = (
    "SELECT t.turn_id, t.machine, t.trigger_key, t.phase, t.claims, t.lease_until_us, t.process_id, p.host, p.pid,"
    " p.pid_started, p.ended_us FROM turn AS t JOIN process AS p ON p.process_id = t.process_id"
    " WHERE t.ended_us IS NULL ORDER BY t.turn_id"
)


def unfinished(log: sqlite3.Connection, process_id: int, now_us: int) -> list[Unfinished]:
    """The turns left alone, oldest first; those of the asking process only when their lease has run out."""
    host, found = socket.gethostname(), []
    alive: dict[int, bool] = {process_id: True}
    for *turn, lease_us, owner, where, pid, mark, ended_us in log.execute(_OPEN):
        if owner not in alive:
            alive[owner] = ended_us is None and (where != host or is_alive(pid, mark))
        if not alive[owner]:
            found.append(Unfinished._make([*turn, "process_gone"]))
        elif lease_us < now_us:
            found.append(Unfinished._make([*turn, "lease_expired"]))
    return found
