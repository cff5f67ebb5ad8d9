"""Builders of turns and contracts, and a machine whose phases are scripted, on a manual clock and a log in memory."""

import asyncio
import inspect
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.contract import Contract, ToolSchema
from phasewalk.machine.definition import Definition
from phasewalk.machine.limits import Limits
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.runner import Runner
from phasewalk.machine.speech import Envelope, Plan, Speech
from phasewalk.machine.testing import CountingIds, ManualClock, MemoryLog
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.turn import FIELDS, Turn
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.machine.words import Addressed, Kind

SPEECH = Speech("answer", "general", "Hello.")
PLAIN = {
    "received": Report("admitted"),
    "classify": Report("classified"),
    "freeze_contract": Report("contract_frozen"),
    "build_prompt": Report("prompt_built"),
    "model_attempt": Report("output_received"),
    "tool_rounds": Report("results_ready"),
    "validate_envelope": Report(
        "envelope_accepted", {"envelope": Envelope("Hello.", answer_needed=True), "plan": Plan((SPEECH,))}
    ),
    "deliver": Report("delivered"),
    "record": Report("recorded"),
}
FROM_OUTSIDE = {"deadline_passed", "cancelled", "crashed", "interrupted"}


def a_trigger(**changes: object) -> Trigger:
    values = {
        "key": "k:1", "kind": Kind.USER, "text": "hello", "channel_id": "1", "channel_name": "general",
        "user_id": "7", "user_name": "ann", "addressed": Addressed.MENTION,
    }  # fmt: skip
    return Trigger(**{**values, **changes})


def a_candidate(name: str = "one", **changes: object) -> Candidate:
    return Candidate(**{"provider": name, "api": "chat", "model": f"m-{name}", **changes})


def a_contract(**changes: object) -> Contract:
    values = {
        "selection": "none", "families": (), "required": (), "offered": (), "executable": (), "schemas": (),
        "channels": ("general",), "staff_channel": None, "candidates": (a_candidate(),), "capabilities": (),
        "limits": Limits(),
    }  # fmt: skip
    if "offered" in changes and "schemas" not in changes:
        changes = {**changes, "schemas": tuple(ToolSchema(name, "A tool.", "{}") for name in changes["offered"])}
        changes.setdefault("executable", changes["offered"])
    return Contract(**{**values, **changes})


def a_turn(**changes: object) -> Turn:
    values = {
        "turn_id": "turn-1", "machine": "turn", "trigger": a_trigger(), "limits": Limits(),
        "started": 1000.0, "deadline": 1360.0,
    }  # fmt: skip
    return Turn(**{**values, **changes})


class Scripted:
    """A walk of the turn table in which each phase does what `script` says: a report, an exception, a function."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.log = MemoryLog()
        self.script: dict[str, object] = dict(PLAIN)
        self.openings: dict[str, Callable] = {}
        self.table = TURN_TABLE
        self.turns: list[tuple[str, Turn]] = []
        self.sent: list[str] = []
        self.ids = CountingIds()

    def definition(self) -> Definition:
        return Definition(self.table, {name: self._phase(name) for name in self.table.phases})

    def runner(self) -> Runner:
        def ports_of(trigger, log, effects, keep):
            return SimpleNamespace(log=log, effects=effects, keep=keep, clock=self.clock)

        return Runner(self.definition(), self.log, self.clock, self.ids, ports_of)

    def start(self, runner: Runner | None = None, limits: Limits | None = None, **trigger: object) -> asyncio.Task:
        return asyncio.ensure_future((runner or self.runner()).run(a_trigger(**trigger), limits or Limits()))

    async def walk(self, limits: Limits | None = None, **trigger: object):
        task = self.start(None, limits, **trigger)
        await self.clock.run_until(task)
        assert task.done(), f"the walk stands still; rows: {self.path()}"
        return task.result()

    def records(self, kind: type) -> list:
        return [record for _, record in self.log.rows if type(record) is kind]

    def path(self) -> list[str]:
        """The rows of the table that were taken, in order."""
        return [r.transition for _, r in self.log.rows if type(r).__name__ == "PhaseExited"]

    def exit_of(self, phase: str):
        return next(r for _, r in self.log.rows if type(r).__name__ == "PhaseExited" and r.phase == phase)

    def _phase(self, name: str) -> Phase:
        async def run(turn: Turn, ports: object) -> object:
            self.turns.append((name, turn))
            act = self.script[name]
            if isinstance(act, BaseException):
                raise act
            if callable(act):
                act = act(turn, ports)
            return await act if inspect.isawaitable(act) else act

        events = self.table.events_of(name) - FROM_OUTSIDE
        return Phase(name, run, events, set(FIELDS), self.openings.get(name))


@pytest.fixture
def machine() -> Scripted:
    return Scripted()


@pytest.fixture
def make() -> SimpleNamespace:
    return SimpleNamespace(turn=a_turn, trigger=a_trigger, candidate=a_candidate, contract=a_contract)
