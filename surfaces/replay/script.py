"""The record as it is followed: where the walk stands in it, and where it left it.

Owns the place, the instants at which recorded work was over, and the first thing that the record does not hold. Knows
no port. Invariant: once the walk has left the record, the log takes no further row, and nothing is guessed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import NoReturn

from attrs import define, frozen

from phasewalk.machine.errors import LeaseLostError
from phasewalk.machine.limits import MODEL_CALL_FLOOR
from phasewalk.machine.phase import Opening, Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import DELIVER
from phasewalk.storage.recorded_turn import Attempt, Moment, RecordedTurn, Stay, Text
from phasewalk.surfaces.replay.clock import ReplayClock
from phasewalk.surfaces.replay.slow import INTERRUPTED, Slow, slow_commit

MARGIN = 2.0
"""Seconds behind a recorded wait that ended with nothing, in which a limit of today may still end it alike."""

MOMENT = 0.001


@frozen
class Left:
    """Where today's code left the record: in which visit, in which section, what was recorded, what it does now.

    `untold` says that this is no difference: the record does not hold what would be needed to go on.
    """

    place: int
    section: str
    recorded: object
    today: object
    why: str
    untold: bool = False


@define
class Script:
    """One walk through a record; `close` makes the log refuse every further row."""

    record: RecordedTurn
    clock: ReplayClock
    close: Callable[[str], None]
    cancel: Callable[[str], None]
    place: int = -1
    asked: int = 0
    left: Left | None = None
    over: bool = False
    slow: Slow | None = None

    @property
    def stay(self) -> Stay:
        """The recorded visit that is walked again."""
        return self.record.stays[min(self.place, len(self.record.stays) - 1)]

    def follow(self, phase: Phase) -> Phase:
        """The phase, walked in step with the record."""
        return Phase(phase.name, self._run(phase), phase.events, phase.writes, self._opening(phase))

    def leave(self, section: str, recorded: object, today: object, why: str, *, untold: bool = False) -> None:
        """Today's code needs what the record does not hold; only the first time counts."""
        if self.left is None:
            self.left = Left(max(self.place, 0), section, recorded, today, why, untold)
            self.close(why)

    def _opening(self, phase: Phase) -> Callable[[Turn], Opening]:
        def opening(turn: Turn) -> Opening:
            self._enter(phase.name)
            return phase.opening(turn) if phase.opening else Opening()

        return opening

    def _enter(self, phase: str) -> None:
        self.place += 1
        self.slow = None
        stays = self.record.stays
        if self.place >= len(stays) or stays[self.place].phase != phase:
            self.over = True  # what the row before led to is compared where it was taken
            return
        stay = stays[self.place]
        self.slow = slow_commit(self.record, self.place)
        self.clock.show(_read_at(stay))
        if stay.event == "cancelled" and stay.left is not None:
            self.clock.call_at(self.stop, lambda: self.cancel(stay.reason or "cancelled"))

    def _run(self, phase: Phase) -> Callable[[Turn, Ports], Awaitable[Report]]:
        async def run(turn: Turn, ports: Ports) -> Report:
            stay = self.stay
            if self.over or (stay.left is None and not self._left_traces(phase.name)):
                self._end()
            if stay.left is not None and stay.event in INTERRUPTED and not self._left_traces(phase.name):
                await self.until(self.over_at)
            report = await phase.run(turn, ports)
            if stay.left is None:
                self._end()
            elif stay.event not in INTERRUPTED:
                self.clock.show(stay.left)
            return report

        return run

    def _end(self) -> NoReturn:
        """The walk and the record go on together no further."""
        self.close("the record ends here")
        raise LeaseLostError("the record ends here")

    def _left_traces(self, phase: str) -> bool:
        """Whether the recorded visit had begun something that it then waited for."""
        match phase:
            case "model_attempt":
                return any(attempt.stay == self.place for attempt in self.record.attempts)
            case "tool_rounds":
                return any(call.round == self.stay.visit for call in self.record.calls)
            case "deliver":
                return bool(self.record.spoken)
            case _:
                return False

    async def until(self, instant: float) -> None:
        """Wait for a monotonic instant."""
        await self.clock.sleep(max(instant - self.clock.monotonic(), 0.0))

    def instant(self, at_us: int | None) -> float:
        """A recorded wall-clock instant of this visit on the monotonic clock; without one it is now."""
        begun = self.stay.begun
        return self.clock.monotonic() if at_us is None else begun.mono + (at_us - begun.at_us) / 1e6

    async def finished(self, at_us: int | None, limit: float | None = None) -> None:
        """Wait until recorded work was over, which came in time when the record says so, whatever its last rows say.

        `limit` is the instant up to which it had been given time then.
        """
        stay, instant = self.stay, self.instant(at_us)
        if stay.left is not None:
            instant = min(instant, stay.left.mono)
        bound = self.stop if stay.event in INTERRUPTED else self.deadline
        instant = min(instant, bound - MOMENT)
        await self.until(min(instant, limit - MOMENT) if limit is not None else instant)

    @property
    def deadline(self) -> float:
        """The instant that bounded the recorded visit."""
        grace = self.limit("delivery_grace", 30.0) if self.stay.phase == DELIVER else 0.0
        return self.record.begun.mono + self.record.seconds + grace

    @property
    def stop(self) -> float:
        """The instant at which the recorded visit, which was interrupted, was told to stop."""
        deadline, left = self.deadline, self.stay.left
        if self.stay.event == "deadline_passed" or left is None:
            return deadline
        return min(left.mono, deadline - MOMENT)

    @property
    def over_at(self) -> float:
        """The instant at which an interrupted visit was over: that of the commit that kept it from stopping at once."""
        left = self.stay.left
        return max(left.mono if left else self.stop, self.stop + MOMENT)

    def call_limit(self) -> float:
        """The instant up to which a model call that begins now would have been given time."""
        return self.clock.monotonic() + max(self.limit("model_call", 300.0), MODEL_CALL_FLOOR)

    def limit(self, name: str, default: float) -> float:
        """A limit of the recorded contract, seconds."""
        limits = (self.record.contract or {}).get("limits", {})
        return float(limits.get(name, default))

    async def hang(self, section: str, recorded: str, at_us: int | None, *, stopped: bool = False) -> None:
        """Wait for what never came; when today's code waits longer than was waited then, the record ends.

        `stopped` says that it was given up with the visit alone: a limit of its own that comes shortly before, because
        the walk came here sooner than then, is not heard.
        """
        stay = self.stay
        end = max(stay.left.mono if stay.left else stay.begun.mono, self.instant(at_us)) + MARGIN
        try:
            await self.until(end)
        except asyncio.CancelledError:
            if not stopped or stay.event not in INTERRUPTED or self.clock.monotonic() > self.stop - MOMENT:
                raise
            await self.until(end)
        self.leave(section, recorded, "still waits", "today's code would have waited longer than was waited then")

    def next_attempt(self) -> Attempt | None:
        """The recorded call that comes next; None where there is none."""
        self.asked += 1
        attempts = self.record.attempts
        return attempts[self.asked - 1] if self.asked <= len(attempts) else None


def _read_at(stay: Stay) -> Moment:
    """When a phase read the clock: as it began, unless its prompt tells the minute in which it ended."""
    prompt = stay.detail.get("prompt")
    context = prompt.get("context") if isinstance(prompt, dict) else None
    context = context.body if isinstance(context, Text) else context
    if stay.left is None or not isinstance(context, str):
        return stay.begun
    first, last = (datetime.fromtimestamp(m.at_us / 1e6, UTC).strftime("%H:%M UTC") for m in (stay.begun, stay.left))
    return stay.left if first not in context and last in context else stay.begun
