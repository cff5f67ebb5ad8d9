"""One walk in progress: the turn in hand, where it is, and what it has done that cannot be taken back.

Owns how a walk is interrupted, and the effects port of its phases. Knows no table and takes no row.
"""

import asyncio
from collections.abc import Mapping

from attrs import define, evolve, field, frozen

from phasewalk.machine.deadlines import Clock, Timer
from phasewalk.machine.documents import encode, json_of
from phasewalk.machine.effects import Effect, EffectKind, EffectState
from phasewalk.machine.ports import Ids, TurnLog
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import EffectIntended, EffectSettled, Record
from phasewalk.machine.text import storable
from phasewalk.machine.turn import Turn


@frozen
class Interruption:
    """Why a phase is to stop: the event to take, and its reason."""

    event: str
    reason: Reason


@frozen
class Interrupted:
    """A turn that was found in the log without anybody walking it; `turn` carries the token under which it stands.

    `closing` are the rows that end what was going on when its process ended.
    """

    turn: Turn
    phase: str
    seq: int
    visits: Mapping[str, int]
    closing: tuple[Record, ...] = ()


@define
class Walk:
    """One walk in progress, in the task of whoever runs it. `outside` says that this task was cancelled by others."""

    turn: Turn
    phase: str
    log: TurnLog | None = None
    seq: int = 1
    visits: dict[str, int] = field(factory=dict)
    working: bool = False
    pending: Interruption | None = None
    outside: bool = False
    timer: Timer | None = None
    task: "asyncio.Task[object] | None" = None

    def visit(self, phase: str) -> int:
        """Count a visit of `phase`; its number."""
        self.visits[phase] = self.visits.get(phase, 0) + 1
        return self.visits[phase]

    def cancelled_from_outside(self) -> None:
        """Somebody cancelled the task that walks; the walk ends properly first, then the task gets its way."""
        self.outside = True
        self.heard()

    def cancelled_by_itself(self) -> bool:
        """Whether a `CancelledError` comes from the work in hand: nobody has asked for it."""
        return self.pending is None and self.task is not None and not self.task.cancelling()

    def heard(self) -> None:
        """One request to cancel our task has been followed."""
        if self.task is not None:
            self.task.uncancel()

    def interrupt(self, interruption: Interruption) -> None:
        """Stop the phase at work; between phases the next one finds it pending."""
        if self.pending is None:
            self.pending = interruption
            if self.working and self.task is not None:
                self.task.cancel()


@frozen
class TurnEffects:
    """The effects port of one walk: intent and receipt go to the log before the turn knows of them."""

    _walk: Walk
    _log: TurnLog
    _clock: Clock
    _ids: Ids

    def all(self) -> tuple[Effect, ...]:
        """Every effect so far."""
        return self._walk.turn.effects

    async def intend(self, kind: EffectKind, key: str, target: str, detail: object = None) -> str:
        """Commit the intent so that it survives a power cut; only then does the effect count."""
        now_us = self._clock.now_us()
        effect = Effect(self._ids.effect_id(), kind, key, storable(target), intended_us=now_us)
        encoded = encode(detail)
        intended = EffectIntended(effect.effect_id, kind, key, effect.target, now_us, encoded.text, encoded.payloads)
        commit = self._log.write(intended, durable=True)
        try:
            await commit
        except asyncio.CancelledError:
            commit.result()
            self._count(effect)
            await self.failed(effect.effect_id, {"not_started": "the turn was stopped before it began"})
            raise
        self._count(effect)
        return effect.effect_id

    async def done(self, effect_id: str, detail: object = None, *records: Record) -> None:
        """Commit the receipt; it is written also when the turn is cancelled meanwhile."""
        await self._settle(effect_id, "receipt", EffectState.DONE, detail, records)

    async def failed(self, effect_id: str, detail: object = None, *records: Record) -> None:
        """Commit that it definitely did not happen."""
        await self._settle(effect_id, "failed", EffectState.FAILED, detail, records)

    def _count(self, effect: Effect) -> None:
        self._walk.turn = evolve(self._walk.turn, effects=(*self._walk.turn.effects, effect))

    async def _settle(
        self,
        effect_id: str,
        kind: str,
        state: EffectState,
        detail: object,
        records: tuple[Record, ...],
    ) -> None:
        text = json_of(detail) if detail is not None else None
        effects = self._walk.turn.effects
        self._walk.turn = evolve(
            self._walk.turn,
            effects=tuple(evolve(e, state=state) if e.effect_id == effect_id else e for e in effects),
        )
        await self._log.write(EffectSettled(effect_id, kind, self._clock.now_us(), text), *records)
