"""Pruning: bodies of old texts first, then whole old turns (LOG-11).

Owns what is old, and the rows that say what was pruned. Invariants: of a turn all goes or nothing; a turn that
runs, and one that others of its family keep, stays; what was pruned so far stands in `prune_log` at every moment.
"""

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from phasewalk.machine.documents import json_of
from phasewalk.storage.database import open_for_reading, open_for_writing
from phasewalk.storage.health import Process
from phasewalk.storage.operators import PATIENCE_MS, Action, change
from phasewalk.storage.references import parts, references
from phasewalk.storage.retention import (
    BATCH,
    PAYLOADS,
    delete_messages,
    delete_turns,
    drop_contracts,
    fill_index,
    ids,
    in_turn,
    remembered,
    used_since,
)

_FAMILIES = (
    "WITH RECURSIVE line (turn_id, root) AS (SELECT turn_id, turn_id FROM turn WHERE parent_turn_id IS NULL UNION ALL"
    " SELECT t.turn_id, line.root FROM turn AS t JOIN line ON t.parent_turn_id = line.turn_id)"
    " SELECT json_group_array(line.turn_id) FROM line JOIN turn AS t ON t.turn_id = line.turn_id GROUP BY root"
    " HAVING min(t.ended_us IS NOT NULL) AND max(t.started_us) < ? ORDER BY root"
)
_OLD = "turn_id IS NULL AND channel_id <> '' AND at_us < :before"


class Plan(NamedTuple):
    """What a pruning takes away. `left` are texts that a running process may still refer to."""

    planned_us: int
    turns_before_us: int
    bodies_before_us: int
    families: list[list[str]]
    bodies: list[str]
    rows: list[str]
    body_bytes: int
    messages: int
    left: dict[str, Process]

    @property
    def turns(self) -> int:
        """How many turns go."""
        return sum(map(len, self.families))

    @property
    def nothing(self) -> bool:
        """Whether all is younger."""
        return not (self.families or self.bodies or self.rows or self.messages)


class Pruned(NamedTuple):
    """What was taken away."""

    turns: int
    bodies: int


def plan(log: sqlite3.Connection, turns_before_us: int, bodies_before_us: int) -> Plan:
    """What goes, as the log stands: turns that began before the one time, bodies used by none since the other."""
    log.execute("BEGIN")
    try:
        families = [json.loads(names) for (names,) in log.execute(_FAMILIES, (turns_before_us,))]
        going = {name for family in families for name in family}
        young = ids(log, "ended_us IS NULL OR started_us >= ?", bodies_before_us)
        used = references(log, (name for name in young if name not in going))
        kept = used | references(log, set(ids(log, "1")) - going - set(young))
        held = remembered(log)
        stored = {
            str(name): int(size) for name, size in log.execute("SELECT digest, coalesce(length(body), -1) FROM payload")
        }
        rows = sorted(stored.keys() - kept - held.keys())
        bodies = sorted(name for name in stored.keys() - used - held.keys() if stored[name] >= 0)
        old = stored.keys() - used
        messages = log.execute(f"SELECT count(*) FROM message WHERE {_OLD}", {"before": turns_before_us}).fetchone()[0]  # noqa: S608 - a condition of this file
    finally:
        log.execute("COMMIT")
    return Plan(
        planned_us=time.time_ns() // 1000,
        turns_before_us=turns_before_us,
        bodies_before_us=bodies_before_us,
        families=families,
        bodies=bodies,
        rows=rows,
        body_bytes=sum(stored[name] for name in bodies),
        messages=int(messages),
        left={name: held[name] for name in held.keys() & old if stored[name] >= 0},
    )


def planned(path: Path, turns_before_us: int, bodies_before_us: int) -> Plan:
    """The plan alone, from a log that is not touched."""
    with closing(open_for_reading(path)) as log:
        return plan(log, turns_before_us, bodies_before_us)


def prune(path: Path, turns_before_us: int, bodies_before_us: int, who: str) -> tuple[Plan, Pruned]:
    """Take away what is old, in short transactions beside a bot that runs; the plan and what was done.

    Raises `StorageError` as `open_for_writing` does, and `sqlite3.Error` when the file stays locked.
    """
    with closing(open_for_writing(path)) as log:
        log.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
        made = plan(log, turns_before_us, bodies_before_us)
        in_turn(log, lambda: log.execute(_OLD_COUNTS, (turns_before_us,)).rowcount)
        if made.nothing:
            fill_index(log)
            return made, Pruned(0, 0)
        noted = _Noted(path, made, who)
        _leave(log, made)
        bodies = _bodies(log, made, noted.bodies)
        turns = _turns(log, made, noted.turns)
        _rows(log, made)
        drop_contracts(log)
        fill_index(log)
    return made, Pruned(turns, bodies)


class _Noted:
    """The rows of `prune_log` that count what was done, made together with the audit row before anything goes."""

    def __init__(self, path: Path, made: Plan, who: str) -> None:
        self.bodies = self.turns = 0
        self._made = made
        self._who = who
        change(path, self._note)

    def _note(self, log: sqlite3.Connection, now_us: int) -> Action:
        made = self._made
        insert = "INSERT INTO prune_log (at_us, what, before_us, rows, detail) VALUES (?, ?, ?, 0, ?)"
        stood = dict(zip(("turns", "bodies"), log.execute(_STANDING).fetchone(), strict=True))
        if made.bodies:
            detail = json_of({"unused_since_us": made.bodies_before_us})
            self.bodies = log.execute(insert, (now_us, "payloads", None, detail)).lastrowid or 0
        if made.families or made.messages:
            self.turns = log.execute(insert, (now_us, "turns", made.turns_before_us, None)).lastrowid or 0
        after = {"turns": stood["turns"] - made.turns, "bodies": stood["bodies"] - len(made.bodies)}
        return Action(self._who, "prune the log", "old turns and texts", stood, after)


_STANDING = "SELECT (SELECT count(*) FROM turn), (SELECT count(*) FROM payload WHERE body IS NOT NULL)"
_TAKE_BODY = (
    "UPDATE payload SET body = NULL, pruned_us = ?"
    " WHERE body IS NOT NULL AND digest IN (SELECT value FROM json_each(?))"
)
_OLD_COUNTS = "DELETE FROM ignored_message WHERE hour_us < ?"
_COUNT = "UPDATE prune_log SET rows = rows + ? WHERE prune_id = ?"


def _bodies(log: sqlite3.Connection, made: Plan, noted: int) -> int:
    total = 0
    for some in parts(made.bodies, PAYLOADS):

        def work(some: list[str] = some) -> int:
            values = (time.time_ns() // 1000, _still(log, made, some))
            count = log.execute(_TAKE_BODY, values).rowcount
            log.execute(_COUNT, (count, noted))
            return count

        total += in_turn(log, work)
    return total


def _turns(log: sqlite3.Connection, made: Plan, noted: int) -> int:
    total = 0
    for some in _batches(made.families):

        def work(some: list[str] = some) -> int:
            count = delete_turns(log, some)
            log.execute(_COUNT, (count, noted))
            return count

        total += in_turn(log, work)
    if made.messages:
        in_turn(log, lambda: delete_messages(log, _OLD, {"before": made.turns_before_us}))
    return total


def _batches(families: Iterable[list[str]]) -> Iterable[list[str]]:
    """Whole families, about `BATCH` turns at once."""
    some: list[str] = []
    for family in families:
        some += family
        if len(some) >= BATCH:
            yield some
            some = []
    if some:
        yield some


def _leave(log: sqlite3.Connection, made: Plan) -> None:
    """Write down which texts stay for which process, since the turns that tell it may be about to go."""
    left = [(digest, process.process_id) for digest, process in made.left.items()]

    def work() -> int:
        log.execute("DELETE FROM payload_left")
        log.executemany("INSERT INTO payload_left (digest, process_id) VALUES (?, ?)", left)
        return 0

    in_turn(log, work)


def _rows(log: sqlite3.Connection, made: Plan) -> None:
    """The rows of texts that no turn names any more."""
    for some in parts(made.rows, PAYLOADS):

        def work(some: list[str] = some) -> int:
            sql = "DELETE FROM payload WHERE digest IN (SELECT value FROM json_each(?))"
            return log.execute(sql, (_still(log, made, some),)).rowcount

        in_turn(log, work)


def _still(log: sqlite3.Connection, made: Plan, digests: list[str]) -> str:
    """Those of the digests that nobody has begun to use since the plan was made."""
    used = used_since(log, made.planned_us)
    return json.dumps([digest for digest in digests if digest not in used])
