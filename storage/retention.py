"""What pruning and forgetting share: whole turns deleted, and which texts nobody refers to any more (LOG-11).

Owns how a turn is deleted with all that belongs to it. Decides nothing about age or
persons. Invariants: a turn is deleted whole or not at all; a text that a running process may refer to without
storing it again is not taken away.
"""

import json
import sqlite3
import time
from collections.abc import Callable, Sequence

from phasewalk.storage.backup import live_processes
from phasewalk.storage.health import Process
from phasewalk.storage.phase_log import KNOWN_PAYLOADS
from phasewalk.storage.queries import id_floor
from phasewalk.storage.references import IN_TURNS, parts, references
from phasewalk.storage.search import take_in

BATCH = 100
"""Turns in one transaction; so the bot waits for some tens of milliseconds at most."""

PAYLOADS = 2000
"""Texts in one transaction."""

BREATH = 0.005
"""Seconds between two transactions, in which others write."""

REMEMBERED = 2 * KNOWN_PAYLOADS
"""So many texts back a running process may pass over storing one again; twice what it remembers, for good measure."""

RECENT_US = 600_000_000
"""Turns that began so shortly before a plan was made may have gone on since."""

_LINE = (
    "WITH RECURSIVE line (turn_id) AS (SELECT value FROM json_each(?) UNION"
    " SELECT t.turn_id FROM turn AS t JOIN line ON t.parent_turn_id = line.turn_id) SELECT turn_id FROM line"
)
_OF_TURN = (
    f"DELETE FROM effect_event WHERE effect_id IN (SELECT effect_id FROM effect WHERE turn_id IN {IN_TURNS})",  # noqa: S608 - as above
    *(
        f"DELETE FROM {table} WHERE turn_id IN {IN_TURNS}"  # noqa: S608 - as above
        for table in ("effect", "phase_event", "attempt", "fallback_step", "tool_call", "circuit_failure", "summary")
    ),
    f"DELETE FROM approval WHERE turn_id IN {IN_TURNS} OR used_turn_id IN {IN_TURNS}",  # noqa: S608 - as above
    f"UPDATE log_loss SET turn_id = NULL WHERE turn_id IN {IN_TURNS}",  # noqa: S608 - as above
    f"DELETE FROM turn WHERE turn_id IN {IN_TURNS}",  # noqa: S608 - as above
)
_STUB = (
    "UPDATE message SET turn_id = NULL, channel_id = '', role = 'tool', author_id = '', author = '', text = '',"
    " at_us = 0, message_id = '', unit = '', state = NULL, call = NULL, trimmed_us = 0 WHERE entry_id = ?"
)
_QUEUE = (
    "UPDATE summary_queue AS q SET entries = (SELECT count(*) FROM message AS m WHERE m.channel_id = q.channel_id"
    " AND m.entry_id >= q.first_entry_id AND m.trimmed_us IS NOT NULL) WHERE channel_id IN"
    " (SELECT value FROM json_each(?))"
)

Work = Callable[[], int]


def in_turn(connection: sqlite3.Connection, work: Work) -> int:
    """Do `work` in a transaction of its own, and let others write before the next one; what `work` returned."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        done = work()
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    time.sleep(BREATH)
    return done


def with_descendants(log: sqlite3.Connection, turn_ids: Sequence[str]) -> list[str]:
    """These turns and all that began as a part of them."""
    return [str(name) for (name,) in log.execute(_LINE, (json.dumps(list(turn_ids)),))]


def ids(log: sqlite3.Connection, condition: str, *values: object) -> list[str]:
    """The turns that fit a condition, oldest first."""
    sql = f"SELECT turn_id FROM turn WHERE {condition} ORDER BY turn_id"  # noqa: S608 - conditions of this program, values bound
    return [str(name) for (name,) in log.execute(sql, values)]


def remembered(log: sqlite3.Connection) -> dict[str, Process]:
    """The texts that a running process may refer to without storing them again, each with the process."""
    found: dict[str, Process] = {}
    for process in live_processes(log):
        own: set[str] = set()
        turns = ids(log, "process_id = ?", process.process_id)[::-1]
        for some in parts(turns, 50):
            own |= references(log, some)
            if len(own) >= REMEMBERED:
                break
        sql = "SELECT digest FROM payload_left WHERE process_id = ?"
        own.update(str(digest) for (digest,) in log.execute(sql, (process.process_id,)))
        found.update(dict.fromkeys(own, process))
    return found


def used_since(log: sqlite3.Connection, planned_us: int) -> set[str]:
    """What turns refer to that went on or began since a plan was made."""
    return references(log, ids(log, "ended_us IS NULL OR turn_id >= ?", id_floor(planned_us - RECENT_US)))


def delete_turns(connection: sqlite3.Connection, turn_ids: Sequence[str]) -> int:
    """Delete turns with all that belongs to them, inside the transaction that is open; how many there were."""
    turns = json.dumps(list(turn_ids))
    delete_messages(connection, f"turn_id IN {IN_TURNS}", {"turns": turns})
    count = 0
    for statement in _OF_TURN:
        count = connection.execute(statement, {"turns": turns}).rowcount
    return count


def delete_messages(connection: sqlite3.Connection, condition: str, values: dict[str, object]) -> int:
    """Delete messages. The newest of all stays as an empty row, so that its number is not given again."""
    sql = f"SELECT entry_id, channel_id FROM message WHERE {condition}"  # noqa: S608 - conditions of this program, values bound
    rows = connection.execute(sql, values).fetchall()
    if not rows:
        return 0
    newest = connection.execute("SELECT max(entry_id) FROM message").fetchone()[0]
    connection.executemany("DELETE FROM message WHERE entry_id = ?", [(e,) for e, _ in rows if e != newest])
    if any(entry == newest for entry, _ in rows):
        connection.execute(_STUB, (newest,))
    connection.execute("DELETE FROM message WHERE role = 'tool' AND channel_id = '' AND entry_id < ?", (newest,))
    connection.execute(_QUEUE, (json.dumps(sorted({channel for _, channel in rows})),))
    connection.execute("DELETE FROM summary_queue WHERE entries = 0")
    return len(rows)


def drop_contracts(connection: sqlite3.Connection) -> None:
    """Delete the contracts of no turn. Looked up here, since the foreign key would read all turns for each."""
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        connection.execute(
            "DELETE FROM contract WHERE hash NOT IN (SELECT contract_hash FROM turn WHERE contract_hash IS NOT NULL)"
        )
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


def fill_index(connection: sqlite3.Connection) -> None:
    """Take every message into the full-text index that waits for it."""
    while in_turn(connection, lambda: take_in(connection)):
        pass
