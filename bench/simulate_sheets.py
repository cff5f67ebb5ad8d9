"""Writes the rows of the simulated month: large transactions, everything in the order of its time.

Owns the open file and what waits for it. Knows no turn. Foreign keys are off while it writes: whoever doubts asks
`PRAGMA foreign_key_check`.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from attrs import define, field
from simulate_copies import EVENT, NOTE, TASK

from phasewalk.storage.circuits import _CLOSE
from phasewalk.storage.compression import packed
from phasewalk.storage.database import open_for_writing
from phasewalk.storage.history import _QUEUE
from phasewalk.storage.statements import (
    ATTEMPT,
    ATTEMPT_END,
    CONTRACT,
    EFFECT,
    EFFECT_EVENT,
    ENDED,
    MESSAGE,
    MOVED,
    NOT_SUMMED,
    OPENED,
    PAYLOAD,
    STEP,
    SUMMARY,
    SUMMED,
    TOOL,
    TOOL_END,
)

MESSAGE_IN_WINDOW = MESSAGE.replace("call)", "call, trimmed_us)").replace("?)", "?, ?)")
TRIM = "UPDATE message SET trimmed_us = ? WHERE entry_id = ?"
IGNORED = (
    "INSERT INTO ignored_message (process_id, channel_id, reason, hour_us, count, last_us) VALUES (?, ?, ?, ?, ?, ?)"
)
ORDER = (OPENED, ENDED, MOVED, ATTEMPT, ATTEMPT_END, STEP, TOOL, TOOL_END, EFFECT, SUMMARY, NOTE, TASK)
"""What is written as it comes, in this order; events, effects and messages are brought into the order of their time."""
PRAGMAS = "foreign_keys = OFF", "journal_mode = OFF", "synchronous = OFF", "cache_size = -1500000", "temp_store = 2"
INDEXED_AT_ONCE = 20_000


@define
class Sheets:
    """Rows by their statement, until there are enough of them."""

    log: sqlite3.Connection
    waiting: dict[str, list[Any]] = field(factory=lambda: defaultdict(list))
    known: set[str] = field(factory=set)
    dirty: set[str] = field(factory=set)
    cleared: dict[str, tuple[int, str]] = field(factory=dict)

    @classmethod
    def opened(cls, path: Path) -> "Sheets":
        """On a new file, with the real schema."""
        path.unlink(missing_ok=True)
        log = open_for_writing(path)
        for pragma in PRAGMAS:
            log.execute(f"PRAGMA {pragma}")
        return cls(log)

    def payload(self, digest: str, text: str) -> None:
        """A text that many turns share."""
        if digest not in self.known:
            self.known.add(digest)
            self.waiting["payload"].append((digest, len(text), *packed(text.encode())))

    def take(self, rows: Mapping[str, list[Any]]) -> None:
        """The rows of a turn, without those of history."""
        for sql, found in rows.items():
            if " circuit" in sql:
                self._circuit(sql, found)
            elif sql in (EVENT, EFFECT_EVENT) or sql in ORDER:
                self.waiting[sql] += found
            elif sql not in ("payload", MESSAGE, SUMMED, NOT_SUMMED):
                raise AssertionError(f"unknown statement: {sql}")

    def _circuit(self, sql: str, found: list[list[Any]]) -> None:
        """What providers' circuits learn; that one is well means something only behind a failure."""
        for values in found:
            if sql == _CLOSE:
                self.cleared[values[1]] = (values[0], values[1])
                if values[1] not in self.dirty:
                    continue
                self.dirty.discard(values[1])
            else:
                self.dirty.add(next(value for value in values if value in ("nimbus", "harbor")))
            self.waiting["circuit"].append((sql, values))

    def flush(self, before_us: int | None, rows: list[Any], late: list[Any]) -> None:
        """One transaction; what happens from `before_us` on, when the next turn begins, waits for the next one.

        `rows` are those of history, `late` the instants at which rows written before left the window.
        """
        log, waiting = self.log, self.waiting
        log.execute("BEGIN")
        log.executemany(PAYLOAD, waiting["payload"])
        log.executemany(CONTRACT, waiting[CONTRACT])
        for sql in ORDER:
            log.executemany(sql, waiting[sql])
        for sql, at in ((EVENT, 5), (EFFECT_EVENT, 2)):
            ordered = sorted(waiting[sql], key=itemgetter(at))
            kept = [] if before_us is None else [row for row in ordered if row[at] >= before_us]
            log.executemany(sql, ordered[: len(ordered) - len(kept)])
            waiting[sql] = kept
        log.executemany(MESSAGE_IN_WINDOW, rows)
        log.executemany(TRIM, late)
        for sql, values in waiting["circuit"]:
            log.execute(sql, values)
        log.execute("COMMIT")
        for sql in ("payload", "circuit", CONTRACT, *ORDER):
            waiting[sql] = []

    def close(self, unsummed: Mapping[str, list[tuple[int, bool, int]]], ignored: Iterable[tuple[Any, ...]]) -> None:
        """What stands for the whole month: queues of summaries, messages that opened no turn, circuits."""
        log = self.log
        log.execute("BEGIN")
        log.executemany(_QUEUE, [(channel, len(found), found[0][0]) for channel, found in unsummed.items() if found])
        log.executemany(_CLOSE, [c for c in self.cleared.values() if c[1] not in self.dirty])
        log.executemany(IGNORED, ignored)
        log.execute("COMMIT")
        while _taken_in(log):
            pass
        log.execute("PRAGMA journal_mode = WAL")
        log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        log.close()


def _taken_in(log: sqlite3.Connection) -> int:
    """Entries of history that the full-text index took in at this call, in a log that has one."""
    try:
        from phasewalk.storage.search import take_in
    except ImportError:
        return 0
    log.execute("BEGIN")
    taken = take_in(log, INDEXED_AT_ONCE)
    log.execute("COMMIT")
    return taken
