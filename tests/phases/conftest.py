"""The reply machine with its real phases, in memory: a scripted provider, real tools, a clock turned by hand."""

import asyncio
import json
from collections.abc import Callable, Iterable

import pytest
from attrs import evolve

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.exchange import ModelReply, ToolCall
from phasewalk.machine.limits import Limits
from phasewalk.machine.ports import Ports, Settings, Sight
from phasewalk.machine.provider import ModelRequest, PictureRequest, ProviderError
from phasewalk.machine.records import Record
from phasewalk.machine.runner import Runner
from phasewalk.machine.speech import Picture, Speech
from phasewalk.machine.testing import ClosedCircuits, CountingIds, ManualClock, MemoryApprovals, MemoryLog
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.machine import turn_machine
from phasewalk.phases.tools.registry import Registry
from phasewalk.surfaces.speech import OnePlace

FIELDS = {
    "answer": None, "answer_needed": True, "channel": None, "staff": None, "picture": None, "picture_count": None,
    "picture_edit": False, "hack": False,
}  # fmt: skip


def says(answer: str | None = "Hello.", **fields: object) -> ModelReply:
    """A reply that is a valid envelope."""
    return ModelReply(json.dumps({**FIELDS, "answer": answer, **fields}))


def calls(*wanted: tuple[str, dict], text: str | None = None) -> ModelReply:
    """A reply that asks for tools."""
    return ModelReply(text, tuple(ToolCall("", f"p{n}", name, json.dumps(a)) for n, (name, a) in enumerate(wanted)))


class ScriptedProvider:
    """Gives replies in order, raises those that are errors; a function is asked with the request."""

    def __init__(self, *script: object) -> None:
        self.script = list(script)
        self.requests: list[ModelRequest] = []
        self.painted: list[PictureRequest] = []
        self.paints: object = (Picture(b"png"),)

    def request_text(self, request: ModelRequest) -> str:
        return request.prompt.user

    async def complete(self, request: ModelRequest) -> tuple[ModelReply, str]:
        self.requests.append(request)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if callable(step):
            step = step(request)
        if asyncio.iscoroutine(step):
            step = await step
        if isinstance(step, Exception):
            raise step
        return step, "raw"

    async def pictures(self, request: PictureRequest) -> tuple[Picture, ...]:
        self.painted.append(request)
        if isinstance(self.paints, Exception):
            raise self.paints
        return self.paints


class NoMemory:
    async def window(self):
        return ()

    async def earlier(self, user_id, channel_id, limit):
        return ()

    async def summary(self, channel_id):
        return None

    async def unsummed(self, channel_id):
        return ()

    async def remembered(self, user_id):
        return ()


class World(OnePlace):
    """One process: settings may be changed between and during turns."""

    def __init__(self, *script: object, tools: Iterable[object] = (), candidates: int = 1, **settings: object) -> None:
        self.clock = ManualClock()
        self.log = MemoryLog()
        self.ids = CountingIds()
        self.provider = ScriptedProvider(*(script or (says(),)))
        self.tools = Registry(tools)
        self.circuits = ClosedCircuits()
        self.approvals = MemoryApprovals()
        self.spoken: list[Speech] = []
        self.broken: set[str] = set()
        self.sights: list[Sight] = []
        self.sending: Callable[[Speech], None] = lambda speech: None
        chain = tuple(Candidate("one", "chat", f"m{n}", image_model="painter") for n in range(1, candidates + 1))
        self.settings = Settings(**{"candidates": chain, **settings})
        self.runner = Runner(turn_machine(), self.log, self.clock, self.ids, self._ports)

    def change(self, **settings: object) -> None:
        self.settings = evolve(self.settings, **settings)

    async def refusal(self, trigger):
        return None

    async def look(self, trigger: Trigger) -> Sight:
        """The next of `sights`, while there are any."""
        return self.sights.pop(0) if self.sights else Sight.AS_IT_WAS

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:
        self.sending(speech)
        self.spoken.append(speech)
        return f"receipt-{len(self.spoken)}"

    def _ports(self, trigger, log, effects, keep) -> Ports:
        return Ports(
            settings=_Live(self), clock=self.clock, ids=self.ids, log=log, effects=effects, memory=NoMemory(),
            tools=self.tools, providers={"one": self.provider}, surface=self, admission=self, circuits=self.circuits,
            approvals=self.approvals, keep=keep,
        )  # fmt: skip

    def start(self, text: str = "hi", limits: Limits | None = None, **fields: object) -> asyncio.Task:
        values = {
            "key": f"k{self.ids.effect_id()}", "kind": Kind.USER, "text": text, "channel_id": "1",
            "channel_name": "general", "user_id": "7", "user_name": "mira", "addressed": Addressed.DIRECT,
        }  # fmt: skip
        return asyncio.ensure_future(self.runner.run(Trigger(**{**values, **fields}), limits or self.settings.limits))

    async def turn(self, text: str = "hi", limits: Limits | None = None, **fields: object):
        """Walk one turn to its end; the turn as it ended."""
        task = self.start(text, limits, **fields)
        await self.clock.run_until(task)
        return task.result().turn

    def rows(self, kind: type[Record]) -> list:
        return [record for _, record in self.log.rows if type(record) is kind]


class _Live:
    """The settings as they are at the moment when they are looked at; what is broken raises."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> object:
        if name in self._world.broken:
            raise RuntimeError(f"{name} is broken")
        return getattr(self._world.settings, name)


@pytest.fixture
def a_world() -> type[World]:
    return World


@pytest.fixture
def reply():
    """Makes replies: `reply.says(...)`, `reply.calls(...)`, `reply.fails(kind, reason)`."""
    from types import SimpleNamespace

    return SimpleNamespace(says=says, calls=calls, fails=lambda kind, reason: ProviderError(kind, reason, "scripted"))
