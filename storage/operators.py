"""What operators change by command, each change with its audit row (LOG-15).

Owns the row and the short transaction around a change. Invariant: no change without its row, no row without one.
"""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from attrs import frozen

from phasewalk.machine.documents import json_of
from phasewalk.storage.database import open_for_writing

PATIENCE_MS = 5000
"""How long a command waits for a bot that writes at the moment."""


@frozen
class Action:
    """A change: who made it, what it was, what it concerns, and how that stood before and after."""

    who: str
    what: str
    target: str
    before: object
    after: object


def change(path: Path, work: Callable[[sqlite3.Connection, int], Action | None]) -> Action | None:
    """Do `work` (connection, now in microseconds) in one durable transaction, and write down what it says it did.

    None from `work` means that nothing was changed. Raises `StorageError` as `open_for_writing` does, and
    `sqlite3.Error` when the file stays locked.
    """
    with closing(open_for_writing(path)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            now_us = time.time_ns() // 1000
            action = work(connection, now_us)
            if action is not None:
                connection.execute(
                    "INSERT INTO operator_action (at_us, who, what, target, before, after) VALUES (?, ?, ?, ?, ?, ?)",
                    (now_us, action.who, action.what, action.target, json_of(action.before), json_of(action.after)),
                )
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        return action
