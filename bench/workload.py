"""The workload of every benchmark here: one turn of eight phases with no-op bodies and about 2 KB of state."""

import asyncio
import time
from pathlib import Path

from phasewalk.machine.deadlines import SystemClock
from phasewalk.machine.definition import Definition
from phasewalk.machine.limits import Limits
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.runner import Runner
from phasewalk.machine.speech import Plan, Speech
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.turn import Turn
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.machine.words import Kind

PATH = {
    "received": "admitted",
    "classify": "classified",
    "freeze_contract": "contract_frozen",
    "build_prompt": "prompt_built",
    "model_attempt": "output_received",
    "validate_envelope": "envelope_accepted",
    "deliver": "delivered",
    "record": "recorded",
}
STATE = " ".join(f"word{n}" for n in range(260))  # about 2 KB


STATES = tuple(PATH)
SPEECH = Plan((Speech("answer", "bench", "done"),))


def _noop(name: str, event: str) -> Phase:
    """A phase without work; the one before `deliver` plans something, so that all eight are walked."""
    plans = name == "validate_envelope"

    async def run(_turn: Turn, _ports: Ports) -> Report:
        return Report(event, {"plan": SPEECH}) if plans else Report(event)

    return Phase(name, run, {event}, {"plan"} if plans else set())


UNUSED = {"tool_rounds": _noop("tool_rounds", "results_ready")}
DEFINITION = Definition(TURN_TABLE, {name: _noop(name, event) for name, event in PATH.items()} | UNUSED)


def trigger(n: int) -> Trigger:
    return Trigger(
        key=f"bench:{n}",
        kind=Kind.USER,
        text=f"{n} {STATE}",
        channel_id=str(n % 100),
        channel_name="bench",
        user_id="1",
        user_name="bench",
    )


class Ids:
    """Cheap ids, as the shipped ones."""

    def __init__(self) -> None:
        from phasewalk.surfaces.ids import SystemIds

        ids = SystemIds()
        self.turn_id, self.token, self.effect_id, self.fraction = ids.turn_id, ids.token, ids.effect_id, ids.fraction


def runner(log: object) -> Runner:
    return Runner(DEFINITION, log, SystemClock(), Ids(), lambda *_: None)


async def walk(run: Runner, first: int, count: int, at_once: int) -> float:
    """Seconds for `count` turns, `at_once` at a time."""
    limits = Limits()
    numbers = iter(range(first, first + count))

    async def lane() -> None:
        for n in numbers:
            await run.run(trigger(n), limits)

    start = time.perf_counter()
    await asyncio.gather(*(lane() for _ in range(at_once)))
    return time.perf_counter() - start


def fresh(folder: Path, name: str) -> Path:
    path = folder / name
    for old in folder.glob(name + "*"):
        old.unlink()
    return path
