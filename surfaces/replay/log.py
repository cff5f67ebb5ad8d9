"""The log of a turn that is walked again, in which a commit takes as long as the record tells.

Owns the waiting: rows are written at once, and their commit is over at its time. Concludes nothing; which commit was
slow is the affair of `slow`. Invariant: every other commit is over at once.
"""

from attrs import define, field, frozen

from phasewalk.machine.deadlines import Commit
from phasewalk.machine.ports import PhaseLog, TurnLog
from phasewalk.machine.records import EffectIntended, EffectSettled, Record, ToolEnded, ToolStarted, TurnOpened
from phasewalk.surfaces.replay.script import Script
from phasewalk.surfaces.replay.slow import Slow


@frozen
class RecordedPhaseLog:
    """Implements `PhaseLog` over the log that is written."""

    log: PhaseLog
    script: Script

    async def open(self, opened: TurnOpened, token: str, *records: Record) -> TurnLog | None:
        """The log of the turn, whose commits take their time."""
        log = await self.log.open(opened, token, *records)
        return None if log is None else RecordedTurnLog(log, self.script)

    async def find(self, trigger_key: str) -> str | None:
        """See `PhaseLog.find`."""
        return await self.log.find(trigger_key)

    async def claim(self, turn_id: str, held: str, token: str, until_us: int) -> TurnLog | None:
        """Of no use here: a replay ends where a turn was interrupted."""
        return await self.log.claim(turn_id, held, token, until_us)


@define
class RecordedTurnLog:
    """Implements `TurnLog`."""

    log: TurnLog
    script: Script
    _keys: dict[str, str] = field(factory=dict)

    def write(self, *records: Record, durable: bool = False) -> Commit:
        """Write at once; see `TurnLog.write`."""
        slow = self._slow(records)
        commit = self.log.write(*records, durable=durable)
        return self._later(commit) if slow else commit

    async def describe(self, *records: Record) -> None:
        """Write at once; see `TurnLog.describe`."""
        slow = self._slow(records)
        await self.log.describe(*records)
        if slow:
            over = Commit()
            over.set_result(None)
            await self._later(over)

    async def afterwards(self, *records: Record) -> None:
        """See `TurnLog.afterwards`."""
        await self.log.afterwards(*records)

    def _slow(self, records: tuple[Record, ...]) -> bool:
        """Whether this is the commit that was slow; where the record ends with it, the walk ends as well."""
        slow = self.script.slow
        found = slow is not None and slow in [self._named(record) for record in records]
        if found and self.script.stay.left is None:
            self.script.close("the record ends here")
        return found

    def _named(self, record: Record) -> Slow | None:
        match record:
            case ToolStarted():
                return Slow(ToolStarted)
            case ToolEnded():
                return Slow(ToolEnded, record.call_id)
            case EffectIntended():
                self._keys[record.effect_id] = record.idempotency_key
                return Slow(EffectIntended, record.idempotency_key)
            case EffectSettled():
                return Slow(EffectSettled, self._keys.get(record.effect_id, ""))
            case _:
                return None

    def _later(self, commit: Commit) -> Commit:
        """The same commit, over when the visit was."""
        later = Commit()
        self.script.clock.call_at(
            self.script.over_at, lambda: commit.add_done_callback(lambda done: _tell(done, later))
        )
        return later


def _tell(done: Commit, later: Commit) -> None:
    error = done.exception()
    if error is None:
        later.set_result(done.result())
    else:
        later.set_exception(error)
