"""Settles turns that were interrupted, each by what the log says it had done (TURN-14).

Owns which turns can be settled from here, and the tally. Decides nothing: the table of the turn's machine does.
Invariant: a turn is taken over by one process only, and one that cannot be read keeps no other from being settled.
"""

import asyncio
import sqlite3
from collections.abc import Collection, Mapping

from attrs import define, field, frozen

from phasewalk.machine.deadlines import Clock
from phasewalk.machine.limits import Limits
from phasewalk.machine.runner import Ended, Runner
from phasewalk.machine.text import told
from phasewalk.storage.restored_turn import interrupted_turn
from phasewalk.storage.unfinished import Unfinished, unfinished
from phasewalk.surfaces.portal import TOKEN

ON_DISCORD = ("discord", "schedule", "idle")
"""The kinds of trigger keys whose turns speak on Discord."""

TOGETHER = 8
"""So many turns are settled at a time."""


@frozen
class Settled:
    """What became of an interrupted turn; `ended` None: it was left, and `why` says why."""

    found: Unfinished
    ended: Ended | None
    why: str = ""

    @property
    def left(self) -> bool:
        """Whether the turn still has no end."""
        return self.ended is None or self.ended.log_lost


@define
class Recovery:
    """Settles what is found; `kinds` are the kinds of trigger keys whose surface can be reached from here."""

    log: sqlite3.Connection
    clock: Clock
    runners: Mapping[str, Runner]
    limits: Limits
    process_id: int
    kinds: Collection[str]
    _busy: set[str] = field(factory=set)

    def waiting(self) -> list[Unfinished]:
        """The turns that would be looked at now."""
        found = unfinished(self.log, self.process_id, self.clock.now_us())
        return [turn for turn in found if turn.turn_id not in self._busy]

    async def settle(self, stopping: object = None) -> list[Settled]:
        """Settle all that can be settled, oldest first; none begins once `stopping` is true."""
        gate = asyncio.Semaphore(TOGETHER)
        found = self.waiting()
        self._busy.update(turn.turn_id for turn in found)
        try:
            return list(await asyncio.gather(*(self._settled(turn, gate, stopping) for turn in found)))
        finally:
            self._busy.difference_update(turn.turn_id for turn in found)

    async def _settled(self, found: Unfinished, gate: asyncio.Semaphore, stopping: object) -> Settled:
        if found.kind not in self.kinds:
            hint = f" without a token in {TOKEN}" if found.kind in ON_DISCORD else ""
            return Settled(found, None, f"where it was heard ({found.kind}) cannot be reached from here{hint}")
        if found.machine not in self.runners:
            return Settled(found, None, f"no machine of today is called '{found.machine}'")
        async with gate:
            if stopping:
                return Settled(found, None, "the process was asked to stop")
            try:
                turn = interrupted_turn(self.log, found.turn_id, self.clock.now_us())
                ended = await self.runners[found.machine].resume(turn, self.limits)
            except Exception as error:  # noqa: BLE001 - one odd record keeps no other turn from being settled
                return Settled(found, None, told(f"its record cannot be followed: {type(error).__name__}: {error}"))
        return Settled(found, ended, ended.problem or "")
