"""Walks a turn through its table: enter, commit, work, take a row, commit, until `done`.

Owns the walk, the effects of the turn in hand, deadline and cancellation. Does not know what any phase does,
nor which phase follows: the table says that. Invariants: no work without its committed entry (LOG-01); every
walk ends in exactly one `done` (TURN-04), unless its lease or its log is lost, and then says so.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from attrs import evolve, frozen

from phasewalk.machine.deadlines import Clock
from phasewalk.machine.definition import Definition, Stepped
from phasewalk.machine.documents import Encoded, encode, json_of
from phasewalk.machine.errors import LeaseLostError, LogWriteError, PhaseResultError, RowRefusedError
from phasewalk.machine.guards import Asked
from phasewalk.machine.limits import Limits
from phasewalk.machine.outcomes import outcome_of, reason_phase_of, stop_of
from phasewalk.machine.phase import Phase, Report, checked_changes, checked_document
from phasewalk.machine.ports import Ids, PhaseLog, Ports, TurnLog
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import PhaseEntered, PhaseExited, Record, TurnEnded, TurnMoved
from phasewalk.machine.summaries import contract_rows, ended_row, moved_row, opened_row
from phasewalk.machine.text import told
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.turn import Turn
from phasewalk.machine.walk import Interrupted, Interruption, TurnEffects, Walk
from phasewalk.machine.words import DELIVER, Outcome

INTERRUPTED = "interrupted"
"""The event by which a turn leaves the phase that its process did not live to end."""


@frozen
class Ended:
    """A turn that was walked to its end; `known` when the trigger had been claimed before, and nothing was done.

    `log_lost` says that its end could not be written, `problem` why; recovery settles it.
    """

    turn_id: str
    turn: Turn | None
    known: bool = False
    log_lost: bool = False
    problem: str | None = None


class Runner:
    """Walks turns of one machine; many at once, each in its own task.

    `ports_of` makes the world of one turn from its trigger, its log, its effects and its `keep`.
    """

    def __init__(
        self,
        definition: Definition,
        log: PhaseLog,
        clock: Clock,
        ids: Ids,
        ports_of: Callable[[Trigger, TurnLog, TurnEffects, Callable[..., None]], Ports],
    ) -> None:
        self._definition = definition
        self._log = log
        self._clock = clock
        self._ids = ids
        self._ports_of = ports_of
        self._active: dict[str, Walk] = {}

    @property
    def active(self) -> tuple[str, ...]:
        """The ids of the turns being walked."""
        return tuple(self._active)

    async def run(self, trigger: Trigger, limits: Limits) -> Ended:
        """Walk a turn for `trigger` to its end.

        A trigger that has a turn already comes back as `known`, and nothing is done. When the caller is
        cancelled the turn is cancelled too, but still ends properly before this returns (TURN-04).
        """
        started = self._clock.monotonic()
        turn = Turn(
            turn_id=self._ids.turn_id(),
            machine=self._definition.table.name,
            trigger=trigger,
            limits=limits,
            started=started,
            deadline=started + limits.turn,
            opened_us=self._clock.now_us(),
            token=self._ids.token(),
        )
        walk = Walk(turn, self._definition.table.initial, task=asyncio.current_task())
        return await self._walked(walk, self._open(walk))

    async def resume(self, found: Interrupted, limits: Limits) -> Ended:
        """Settle a turn that nobody walks any more, by what it had done (TURN-14), and walk it to its end.

        Comes back as `known` when somebody else took it over first, and nothing is done.
        """
        table, now, now_us = self._definition.table, self._clock.monotonic(), self._clock.now_us()
        turn = evolve(found.turn, limits=limits, started=now, deadline=now, token=self._ids.token())
        step = self._definition.engine.step(turn.turn_id, found.phase, INTERRUPTED, Asked(turn, now, now_us))
        budget = limits.turn if step.row.target == table.initial else 0.0
        turn = evolve(turn, deadline=now + budget)
        walk = Walk(turn, found.phase, seq=found.seq, visits=dict(found.visits), task=asyncio.current_task())
        until_us = now_us + int((budget or limits.delivery_grace) * 1_000_000)
        report = Report(INTERRUPTED, reason=Reason.PROCESS_GONE, records=found.closing)
        return await self._walked(walk, self._log.claim(turn.turn_id, found.turn.token, turn.token, until_us), report)

    async def _walked(
        self, walk: Walk, opening: Coroutine[Any, Any, TurnLog | None], interrupted: Report | None = None
    ) -> Ended:
        ended = await self._walk(walk, opening, interrupted)
        if walk.outside:
            raise asyncio.CancelledError
        return ended

    def cancel(self, turn_id: str, reason: Reason) -> bool:
        """Ask a walking turn to stop, with this reason; whether it is walking."""
        walk = self._active.get(turn_id)
        if walk is not None:
            walk.interrupt(Interruption("cancelled", reason))
        return walk is not None

    async def _walk(
        self, walk: Walk, opening: Coroutine[Any, Any, TurnLog | None], interrupted: Report | None
    ) -> Ended:
        turn_id = walk.turn.turn_id
        try:
            walk.log = await opening
            if walk.log is None:
                known = await self._log.find(walk.turn.trigger.key)
                return Ended(known or turn_id, None, known=True)
            self._active[turn_id] = walk
            effects = TurnEffects(walk, walk.log, self._clock, self._ids)
            ports = self._ports_of(walk.turn.trigger, walk.log, effects, lambda **changes: self._keep(walk, changes))
            self._arm(walk, walk.turn.deadline)
            if interrupted is not None:
                await self._advance(walk, interrupted, None)
            while walk.phase != self._definition.table.final:
                report, encoded = await self._perform(walk, ports)
                await self._advance(walk, report, encoded)
            return Ended(turn_id, walk.turn)
        except LeaseLostError as error:
            lost = evolve(walk.turn, outcome=Outcome.CANCELLED, reason=Reason.LEASE_LOST)
            return Ended(turn_id, lost, log_lost=True, problem=str(error))
        except LogWriteError as error:
            lost = evolve(walk.turn, outcome=Outcome.STOPPED, reason=Reason.LOG_WRITE_FAILED)
            return Ended(turn_id, lost, log_lost=True, problem=str(error))
        finally:
            self._active.pop(turn_id, None)
            if walk.timer is not None:
                walk.timer.cancel()

    async def _open(self, walk: Walk) -> TurnLog | None:
        now_us = self._clock.now_us()
        opened = opened_row(walk.turn, self._definition.table.digest, now_us)
        return await self._log.open(opened, walk.turn.token, *self._entry(walk, walk.phase))

    def _entry(self, walk: Walk, phase_name: str) -> tuple[Record, ...]:
        """The row of a visit's beginning; applies what its phase starts with."""
        phase = self._definition.phases.get(phase_name)
        detail = self._opened(walk, phase)
        now = self._clock.monotonic()
        budget = None
        if phase is not None and phase_name not in self._definition.table.shielded:
            budget = max(int((self._limit_of(walk.turn, phase_name) - now) * 1000), 0)
        seq = walk.seq
        walk.seq += 1
        at_us, visit = self._clock.now_us(), walk.visit(phase_name)
        text, payloads = (detail.text, detail.payloads) if detail else (None, ())
        return (PhaseEntered(seq, phase_name, visit, at_us, int(now * 1e9), budget, text, payloads),)

    def _opened(self, walk: Walk, phase: Phase | None) -> Encoded | None:
        """Apply what the phase's visit starts with; a fault in it crashes the visit, not the walk."""
        if phase is None or phase.opening is None:
            return None
        try:
            opening = phase.opening(walk.turn)
            checked_changes(phase, opening.changes)
            detail = encode(opening.detail) if opening.detail else None
        except Exception as error:  # noqa: BLE001 - see the docstring
            walk.pending = Interruption("crashed", Reason.INTERNAL_ERROR)
            return encode(_fault(error))
        walk.turn = walk.turn.changed(opening.changes)
        return detail

    async def _perform(self, walk: Walk, ports: Ports) -> tuple[Report, Encoded | None]:
        """Let the phase work, or say why it did not end by itself. A result it has returned always wins."""
        phase = self._definition.phases[walk.phase]
        if walk.phase in self._definition.table.shielded:
            return await self._perform_shielded(phase, walk, ports)
        due = self._due(walk)
        if due is not None:
            return Report(due.event, reason=due.reason), None
        walk.working = True
        try:
            report = await phase.run(walk.turn, ports)
        except asyncio.CancelledError as error:
            return _crash(error) if walk.cancelled_by_itself() else (self._interrupted(walk), None)
        except LeaseLostError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a phase raises ends the turn properly (TURN-04, FB-21)
            crash = _crash(error)
            if walk.pending is None:
                return crash
            return evolve(self._interrupted(walk), detail=crash[0].detail), crash[1]  # clean-up failed: logged only
        finally:
            walk.working = False
        if walk.pending is not None:
            walk.heard()  # it was asked to stop and has answered all the same
        return _checked(phase, report)

    async def _perform_shielded(self, phase: Phase, walk: Walk, ports: Ports) -> tuple[Report, Encoded | None]:
        """Neither deadline nor cancellation stops this one; cancelled from outside, it starts over.

        It may, since such a phase hands all its rows to the runner and commits none by itself.
        """
        while True:
            try:
                report = await phase.run(walk.turn, ports)
            except asyncio.CancelledError as error:
                if walk.cancelled_by_itself():
                    return _crash(error)
                walk.cancelled_from_outside()
            except LeaseLostError:
                raise
            except Exception as error:  # noqa: BLE001 - as in _perform
                return _crash(error)
            else:
                return _checked(phase, report)

    def _due(self, walk: Walk) -> Interruption | None:
        """What is pending before the phase begins: a cancellation, or its deadline.

        A pending deadline is compared anew: `deliver` has more time than the phase that it was meant for.
        """
        pending, walk.pending = walk.pending, None
        if pending is not None and pending.event != "deadline_passed":
            return pending
        if self._clock.monotonic() >= self._limit_of(walk.turn, walk.phase):
            return Interruption("deadline_passed", Reason.DEADLINE_PASSED)
        return None

    def _interrupted(self, walk: Walk) -> Report:
        """The end of a phase that was cancelled at work, by us or from outside."""
        pending, walk.pending = walk.pending, None
        if pending is None:
            walk.cancelled_from_outside()
            return Report("cancelled", reason=Reason.CANCELLED)
        walk.heard()
        return Report(pending.event, reason=pending.reason)

    def _limit_of(self, turn: Turn, phase: str) -> float:
        return turn.deadline + (turn.limits.delivery_grace if phase == DELIVER else 0.0)

    def _arm(self, walk: Walk, limit: float) -> None:
        """Set the one timer of the walk. It is set once a turn; when it rings too early it is set anew."""
        walk.timer = self._clock.call_at(limit, lambda: self._ring(walk))

    def _ring(self, walk: Walk) -> None:
        """A limit has come: stop the phase at work, if it is its limit, and set the timer for delivery's."""
        limit = self._limit_of(walk.turn, walk.phase)
        if self._clock.monotonic() < limit:
            self._arm(walk, limit)
            return
        if walk.working:
            walk.interrupt(Interruption("deadline_passed", Reason.DEADLINE_PASSED))
        following = self._limit_of(walk.turn, DELIVER)
        if following > self._clock.monotonic():  # a limit that has come already would ring for ever
            self._arm(walk, following)

    async def _advance(self, walk: Walk, report: Report, encoded: Encoded | None) -> None:
        """Take the row for the report and commit the end of this visit with the beginning of the next."""
        before, phase, seq, visits = walk.turn, walk.phase, walk.seq, dict(walk.visits)
        turn = before.changed(report.changes)
        now = self._clock.monotonic()
        now_us = self._clock.now_us()
        try:
            step = self._definition.engine.step(turn.turn_id, phase, report.event, Asked(turn, now, now_us))
            witnessed = self._definition.witness(Stepped(turn, step, phase, report.event, now_us, now))
        except Exception as error:
            if report.event == "crashed":
                raise
            await self._advance(walk, *_crash(error))
            return
        row = step.row
        stays = row.cause is not None or row.target in (phase, self._definition.table.initial)
        stop = turn.stop if stays else stop_of(turn, phase, report.event, report.reason)
        if stop is not turn.stop or row.cause is not None:
            turn = evolve(turn, stop=stop, cause=row.cause or turn.cause)
        walk.turn = turn if row.target != self._definition.table.initial else turn.anew()
        exited = PhaseExited(
            seq=walk.seq,
            phase=phase,
            visit=walk.visits[phase],
            at_us=now_us,
            mono_ns=int(now * 1e9),
            event=report.event,
            transition=row.id,
            to_phase=row.target,
            guards=json_of(step.guards) if step.guards else None,
            reason=report.reason,
            detail=encoded.text if encoded else None,
            payloads=encoded.payloads if encoded else (),
        )
        walk.seq += 1
        contract = contract_rows(before, turn, now_us)
        walk.phase = row.target
        entry = self._entry(walk, row.target)
        summary: TurnEnded | TurnMoved
        if row.target == self._definition.table.final:
            outcome, reason = outcome_of(turn)
            walk.turn = evolve(turn, outcome=outcome, reason=reason)
            summary = ended_row(walk.turn, outcome, reason, reason_phase_of(turn, phase), now_us)
        else:
            summary = moved_row(walk.turn, row.target)
        try:
            await self._commit(walk, *contract, summary, exited, *report.records, *witnessed, *entry)
        except RowRefusedError as error:
            if report.event == "crashed":
                raise
            walk.turn, walk.phase, walk.seq, walk.visits = before, phase, seq, visits
            await self._advance(walk, *_crash(error))

    async def _commit(self, walk: Walk, *records: Record) -> None:
        """Commit, whatever is asked of us meanwhile: a walk between two phases cannot be stopped."""
        if walk.log is None:
            raise LogWriteError(f"turn {walk.turn.turn_id} has no log")
        commit = walk.log.write(*records)
        try:
            await commit
        except asyncio.CancelledError:
            walk.cancelled_from_outside()
            walk.interrupt(Interruption("cancelled", Reason.CANCELLED))
            commit.result()

    def _keep(self, walk: Walk, changes: Mapping[str, object]) -> None:
        """What a phase has found out and must not lose should it be stopped before it ends."""
        checked_changes(self._definition.phases[walk.phase], changes)
        walk.turn = walk.turn.changed(changes)


def _checked(phase: Phase, report: Report) -> tuple[Report, Encoded | None]:
    try:
        return report, checked_document(phase, report)
    except PhaseResultError as error:
        return _crash(error, Reason.PHASE_RESULT_INVALID)


def _crash(error: BaseException, reason: Reason | None = None) -> tuple[Report, Encoded]:
    if reason is None:
        reason = Reason.LOG_WRITE_FAILED if isinstance(error, LogWriteError) else Reason.INTERNAL_ERROR
    detail = _fault(error)
    return Report("crashed", reason=reason, detail=detail), encode(detail)


def _fault(error: BaseException) -> dict[str, object]:
    """What is kept of an exception."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an exception whose own text fails is still an exception
        message = "an exception without readable text"
    return {"error": type(error).__name__, "message": told(message)}
