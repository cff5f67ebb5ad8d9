"""What a turn could read of earlier ones at its time: history, summaries, topics, facts, as they stood then.

Owns the way back in time. Implements the machine's `Memory`, reads only. Invariant: nothing that became known behind
the turn is shown to it; what the prompt of the turn itself proves about its time decides where rows leave it open.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence

from phasewalk.machine.exchange import HistoryEntry
from phasewalk.machine.ports import Earlier
from phasewalk.storage.history import COLUMNS, EARLIER, SUMMED_AT_ONCE, entry
from phasewalk.storage.recorded_turn import RecordedTurn

_THEN = (
    f"{COLUMNS} WHERE entry_id <= :last AND (trimmed_us IS NULL OR trimmed_us >= :at) AND turn_id IS NOT NULL"
    " ORDER BY entry_id"
)
_LAST = (
    "SELECT coalesce(max(m.entry_id), 0) FROM message AS m JOIN turn AS t ON t.turn_id = m.turn_id"
    " WHERE t.ended_us <= :at AND m.entry_id < :own AND m.entry_id > :own - 2000"
)
_OWN = "SELECT min(entry_id) FROM message WHERE turn_id = ?"
_NEXT = "SELECT coalesce(max(entry_id), 0) + 1 FROM message"
_NEAR = (
    "SELECT DISTINCT t.ended_us FROM message AS m JOIN turn AS t ON t.turn_id = m.turn_id"
    " WHERE m.entry_id BETWEEN :own - 400 AND :own + 400 AND abs(t.ended_us - :at) <= :near AND t.turn_id <> :turn"
    " ORDER BY abs(t.ended_us - :at) LIMIT 40"
)
_SUMMARY = "SELECT text FROM summary WHERE channel_id = ? AND at_us <= ? ORDER BY upto_entry_id DESC LIMIT 1"
_UNSUMMED = (
    f"{COLUMNS} WHERE channel_id = ? AND trimmed_us <= ? AND (state IS NULL OR state = 'sent') AND entry_id >= ?"
    " ORDER BY entry_id LIMIT ?"
)
_FACTS = "SELECT text FROM fact WHERE user_id = ? AND at_us <= ? ORDER BY number"
NEAR_US = 1_000_000
"""So far apart the end of a turn, as it is told, and its commit may lie."""


Proof = Callable[[Sequence[HistoryEntry]], bool]
"""Whether a window may be the one that was read: what the prompt shows came out of it."""


class RecordedMemory:
    """Implements `Memory` for one turn of the log, at the instants at which it read."""

    def __init__(self, log: sqlite3.Connection, record: RecordedTurn, now_us: Callable[[], int], proof: Proof) -> None:
        """`now_us` is the wall clock of the turn that is walked again."""
        self._log = log
        self._record = record
        self._now_us = now_us
        self._proof = proof
        own = log.execute(_OWN, (record.turn_id,)).fetchone()[0]
        self._own = int(own if own is not None else log.execute(_NEXT).fetchone()[0])

    async def window(self) -> Sequence[HistoryEntry]:
        """The working window as it stood. Of the moments around the reading the one that the prompt itself proves."""
        at = self._now_us()
        best = self._at(at)
        if self._proof(best):
            return best
        near = {"own": self._own, "at": at, "near": NEAR_US, "turn": self._record.turn_id}
        for (ended_us,) in self._log.execute(_NEAR, near).fetchall():
            for instant in (ended_us, ended_us - 1):
                window = self._at(instant)
                if self._proof(window):
                    return window
        return best

    def _at(self, at_us: int) -> list[HistoryEntry]:
        """The window when everything that had ended by then was recorded, and nothing else."""
        last = self._log.execute(_LAST, {"at": at_us, "own": self._own}).fetchone()[0]
        found = self._log.execute(_THEN, {"last": last, "at": at_us}).fetchall()
        return [entry(row) for row in found]

    async def earlier(self, user_id: str, channel_id: str, limit: int) -> Sequence[Earlier]:
        """See `Memory.earlier`."""
        whose = {"user": user_id, "channel": channel_id, "limit": limit}
        then = {"before": self._record.turn_id, "at": self._now_us()}
        found = self._log.execute(EARLIER, {**whose, **then}).fetchall()
        return [Earlier(said, tuple(json.loads(families))) for said, families in reversed(found)]

    async def summary(self, channel_id: str) -> str | None:
        """See `Memory.summary`."""
        row = self._log.execute(_SUMMARY, (channel_id, self._now_us())).fetchone()
        return None if row is None else str(row[0])

    async def unsummed(self, channel_id: str) -> Sequence[HistoryEntry]:
        """What a summary had to sum up: its key names the first entry of the queue as it stood."""
        first = int(str(self._record.turn["trigger_key"]).split(":")[-2])
        found = self._log.execute(_UNSUMMED, (channel_id, self._now_us(), first, SUMMED_AT_ONCE))
        return [entry(row) for row in found]

    async def remembered(self, user_id: str) -> Sequence[str]:
        """What was known of a person, as the prompt of the turn shows it, since facts may have been forgotten since.

        Where it shows none, nobody knew any, or none were to be shown.
        """
        known = self._record.prompt.get("user", {}).get("known")
        if known:
            return [str(fact) for fact in known]
        return [str(text) for (text,) in self._log.execute(_FACTS, (user_id, self._now_us()))]
