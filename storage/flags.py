"""The flag that holds every runner up, in the file that all processes share.

Owns reading the table `runner_flag`. Obeys nothing itself, and imports nothing heavy: the first screen reads it too.
Invariant: what is read is what the newest commit says, whichever process made it.
"""

import sqlite3
from typing import NamedTuple

PAUSED = "paused"
"""The name of the row that is there while the bot is paused."""

_READ = "SELECT since_us, set_by, note FROM runner_flag WHERE name = ?"


class Flag(NamedTuple):
    """A flag that is set: since when, by whom, and why in their words (empty where they gave none)."""

    since_us: int
    set_by: str
    note: str


def paused(log: sqlite3.Connection) -> Flag | None:
    """The flag that pauses the bot; None where it is not set."""
    row = log.execute(_READ, (PAUSED,)).fetchone()
    return None if row is None else Flag(int(row[0]), str(row[1]), str(row[2]))


class SqliteFlags:
    """The flags of one log, for those who obey them; a question is one look at a primary key."""

    def __init__(self, reader: sqlite3.Connection) -> None:
        self._reader = reader

    def paused(self) -> Flag | None:
        """See the function `paused`."""
        return paused(self._reader)
