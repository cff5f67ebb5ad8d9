"""Walks a turn of the log again: today's phases on today's table, the world as it was recorded.

Owns the putting together and the one run. Compares nothing. Invariant: the log that is read is not written, no tool
runs, nobody is asked or told anything.
"""

import asyncio
import sqlite3
from collections.abc import Callable

from attrs import frozen

from phasewalk.machine.definition import Definition
from phasewalk.machine.ports import Ports, TurnLog
from phasewalk.machine.provider import Provider
from phasewalk.machine.reasons import Reason
from phasewalk.machine.runner import Runner
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.walk import TurnEffects
from phasewalk.storage.recorded_memory import RecordedMemory
from phasewalk.storage.recorded_trigger import trigger_of
from phasewalk.storage.recorded_turn import RecordedTurn, recorded_turn
from phasewalk.storage.scratch_log import ScratchLog
from phasewalk.surfaces.replay.clock import ReplayClock, ReplayLoop, StalledError
from phasewalk.surfaces.replay.log import RecordedPhaseLog
from phasewalk.surfaces.replay.ports import (
    RecordedAdmission,
    RecordedApprovals,
    RecordedCircuits,
    RecordedIds,
    RecordedSurface,
    RecordedTools,
)
from phasewalk.surfaces.replay.provider import RecordedProvider
from phasewalk.surfaces.replay.script import Left, Script
from phasewalk.surfaces.replay.shown import proves
from phasewalk.surfaces.replay.today import Today


@frozen
class Walked:
    """A turn as it was walked again; `left` is where the record did not go on, `problem` what broke the walk."""

    again: RecordedTurn
    left: Left | None
    problem: str | None


def walk_again(log: sqlite3.Connection, scratch: ScratchLog, record: RecordedTurn, now: Today) -> Walked:
    """Walk the recorded turn by today's code."""
    clock = ReplayClock(record.begun)
    settings = now.settings_for(record)
    runners: list[Runner] = []

    def cancel(reason: str) -> None:
        runners[0].cancel(record.turn_id, Reason(reason))

    script = Script(record, clock, scratch.close, cancel)
    phase_log = RecordedPhaseLog(scratch.begin(clock, settings.redact), script)
    ids = RecordedIds(script)

    def ports(_trigger: Trigger, turn_log: TurnLog, effects: TurnEffects, keep: Callable[..., None]) -> Ports:
        return Ports(
            settings=settings,
            clock=clock,
            ids=ids,
            log=turn_log,
            effects=effects,
            memory=RecordedMemory(log, record, clock.now_us, lambda window: proves(record, script.place, window)),
            tools=RecordedTools(script, now.tools, settings.redact),
            providers={c.provider: _provider(script, now, c.provider, c.api) for c in settings.candidates},
            surface=RecordedSurface(script),
            admission=RecordedAdmission(script),
            circuits=RecordedCircuits(script),
            approvals=RecordedApprovals(script, settings.redact),
            keep=keep,
        )

    machine = now.machines[str(record.turn["machine"])]
    definition = Definition(
        machine.table, {name: script.follow(phase) for name, phase in machine.phases.items()}, machine.witness
    )
    runners.append(Runner(definition, phase_log, clock, ids, ports))
    problem = _run(ReplayLoop(clock), runners[0], trigger_of(record), now, record)
    return Walked(recorded_turn(scratch.connection, record.turn_id), script.left, problem)


def _provider(script: Script, now: Today, name: str, api: str) -> Provider:
    return RecordedProvider(script, now.rules.get(name) if api == "rules" else None)


def _run(loop: ReplayLoop, runner: Runner, trigger: Trigger, now: Today, record: RecordedTurn) -> str | None:
    """Run the walk to its end, or to where the record ends; what broke it, if anything did."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(runner.run(trigger, now.limits_for(record)))
    except StalledError as error:
        return str(error)
    finally:
        _finish(loop)
    return None


def _finish(loop: ReplayLoop) -> None:
    """Let go of whatever still waits, such as a tool that was given up."""
    waiting = asyncio.all_tasks(loop)
    for task in waiting:
        task.cancel()
    if waiting:
        loop.run_until_complete(asyncio.wait(waiting, timeout=3600.0))
    asyncio.set_event_loop(None)
    loop.close()
