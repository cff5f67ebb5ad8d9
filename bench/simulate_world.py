"""A scratch world for the simulated month: the real machines and phases, on a clock that jumps, with a scripted model.

Owns what surrounds a turn here: model, surface, admission, memory, and a log in memory whose statements are kept. Knows
no month. Names, texts and ids are placeholders, see `simulate_story.py`.
"""

import asyncio
import random
import sqlite3
from collections.abc import Sequence
from typing import Any

from attrs import define, field
from simulate_recorder import DirectWriter, Recorder, StoryClock
from simulate_story import (
    ANSWER,
    CHANNEL,
    CHANNEL_ID,
    ENTRY,
    GUILD_ID,
    MESSAGE_ID,
    NAME,
    NUMBER,
    REFUSALS,
    REPLY_ID,
    USER_ID,
    WALL0_US,
    Step,
    Story,
    reply_of,
)

from phasewalk.machine.circuit import CircuitAnswer, CircuitState
from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.exchange import HistoryEntry, ModelReply
from phasewalk.machine.ports import Ports, Settings
from phasewalk.machine.provider import ModelRequest, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.runner import Runner
from phasewalk.machine.testing import ClosedCircuits, MemoryApprovals
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Kind
from phasewalk.phases.machine import summary_machine, turn_machine
from phasewalk.phases.providers.openai_chat_wire import body_text
from phasewalk.phases.tools import notes, tasks
from phasewalk.phases.tools.registry import Registry
from phasewalk.storage.migrations import migrate
from phasewalk.storage.phase_log import SqlitePhaseLog
from phasewalk.storage.shelf import SqliteShelf
from phasewalk.surfaces.speech import OnePlace


@define
class World(OnePlace):
    """Everything around one turn after another; it is also the model, the surface, the admission and the memory."""

    chance: random.Random
    clock: StoryClock = field(factory=StoryClock)
    story: Story = field(factory=lambda: Story(""))
    waiting: list[Step] = field(factory=list)
    calls: int = 0
    sends: int = 0
    kept: list[tuple[str, tuple[Any, ...]]] | None = None
    recorder: Any = None
    connection: Any = None
    log: Any = None
    tools: Any = None
    settings: Settings = field(factory=Settings)
    runner: Runner | None = None
    runners: dict[bool, Runner] = field(factory=dict)

    def open(self) -> "World":
        """With a log in memory."""
        connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=256)
        migrate(connection)
        self.recorder = Recorder(connection)
        writer = DirectWriter(self.recorder, self.clock, self.chance)
        self.log = SqlitePhaseLog(writer, connection, self.clock, redact=str)
        self.connection = connection
        shelf = SqliteShelf(writer, connection)
        self.tools = Registry([*notes.tools(shelf), *tasks.tools(shelf)])
        machines = {False: turn_machine(), True: summary_machine()}
        self.runners = {key: Runner(m, self.log, self.clock, self, self._ports) for key, m in machines.items()}
        return self

    async def started(
        self, command: str, version: str, configuration: dict[str, object]
    ) -> list[tuple[str, tuple[Any, ...]]]:
        """The statements of a process that begins."""
        self.recorder.statements.clear()
        await self.log.start([turn_machine().table, summary_machine().table], command, version, configuration)
        return list(self.recorder.statements)

    async def walk(self, story: Story, settings: Settings) -> list[tuple[str, tuple[Any, ...]]]:
        """The statements that the log executes for such a turn, in order."""
        settings = story.settings(settings)
        self.story, self.waiting, self.calls, self.sends, self.kept = story, list(story.steps), 0, 0, None
        self.recorder.statements.clear()
        for table in ("note", "task", "message"):
            self.connection.execute(f"DELETE FROM {table}")
        self.connection.execute("DELETE FROM sqlite_sequence")
        self.connection.executemany(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [("note", NUMBER - 1), ("task", NUMBER - 1)]
        )
        self.clock.begin()
        self.settings = settings
        self.runner = self.runners[story.summary]
        await self.runner.run(self._trigger(story), settings.limits)
        return list(self.recorder.statements) if self.kept is None else self.kept

    def _trigger(self, story: Story) -> Trigger:
        number = self.chance.getrandbits(60)
        if story.summary:
            return Trigger(f"summary:{number}", Kind.IDLE, "", CHANNEL_ID, CHANNEL, "", "")
        return Trigger(
            key=f"message:{number}", kind=story.kind, text=story.text, channel_id=CHANNEL_ID, channel_name=CHANNEL,
            user_id=USER_ID, user_name=NAME, guild_id=GUILD_ID,
            message_id="" if story.kind is Kind.SCHEDULED else MESSAGE_ID,
            sent_us=WALL0_US - int(self.chance.uniform(0.08, 0.6) * 1e6), addressed=story.addressed,
        )  # fmt: skip

    def _ports(self, trigger: Trigger, log: Any, effects: Any, keep: Any) -> Ports:  # noqa: ARG002 - the runner's signature
        settings = self.settings
        circuit = CircuitAnswer(CircuitState.OPEN, {"opened_us": WALL0_US - 400_000_000, "open_for": 1400.0})
        return Ports(
            settings=settings, clock=self.clock, ids=self, log=log, effects=effects, memory=self, tools=_Slow(self),
            providers={candidate.provider: self for candidate in settings.candidates}, surface=self, admission=self,
            circuits=ClosedCircuits(**dict.fromkeys(self.story.open_circuits, circuit)), approvals=MemoryApprovals(),
            keep=keep,
        )  # fmt: skip

    # ids

    def turn_id(self) -> str:
        return f"qqturn{self.chance.getrandbits(32):08x}qq"

    def token(self) -> str:
        return f"qqtoken{self.chance.getrandbits(32):08x}qq"

    def effect_id(self) -> str:
        return f"qqeffect{self.chance.getrandbits(32):08x}qq"

    def fraction(self) -> float:
        return self.chance.random()

    # the model

    def request_text(self, request: ModelRequest) -> str:
        return f"{body_text(request)}{self.chance.getrandbits(64)}"

    async def complete(self, request: ModelRequest) -> tuple[ModelReply, str]:
        self.calls += 1
        self._maybe_cut("call", self.calls)
        step = self.waiting.pop(0) if self.waiting else Step(ANSWER)
        if self.story.cancel is not None and self.runner is not None:
            self.clock.call_at(
                self.clock.monotonic() + step.seconds / 8,
                lambda: self.runner.cancel(self.runner.active[0], self.story.cancel),  # type: ignore[union-attr]
            )
        await self.clock.advance(1e6 if step.hangs else step.seconds * self.chance.lognormvariate(0.0, 0.45))
        if step.fault is not None:
            kind, reason, message, status, retry_after = step.fault
            raise ProviderError(kind, reason, message, http_status=status, retry_after=retry_after)
        return reply_of(step, request, self.calls, self.chance)

    # the surface, the admission, the memory

    async def send(self, speech: Any, trigger: Trigger, key: str) -> str:  # noqa: ARG002 - the port's signature
        self.sends += 1
        self._maybe_cut("send", self.sends)
        self.clock.spend(self.chance.lognormvariate(-2.0, 0.5))
        sending = self.story.sending
        if sending == "in_doubt":
            await self.clock.advance(20.0)
            raise DeliveryInDoubtError("the connection was lost before an answer came")
        if sending != "ok":
            raise DeliveryError(*REFUSALS[sending])
        return REPLY_ID

    async def refusal(self, trigger: Trigger) -> Reason | None:  # noqa: ARG002 - the port's signature
        return self.story.refusal

    async def window(self) -> Sequence[HistoryEntry]:
        if self.story.crash:
            raise KeyError("reply_chain")
        return self._entries() if self.story.history else ()

    async def unsummed(self, channel_id: str) -> Sequence[HistoryEntry]:  # noqa: ARG002 - the port's signature
        return self._entries()

    def _entries(self) -> tuple[HistoryEntry, ...]:
        return tuple(HistoryEntry("user", "", NAME, USER_ID, ENTRY + n, "", CHANNEL_ID) for n in range(3))

    async def earlier(self, *_: object) -> Sequence[Any]:
        return ()

    async def summary(self, *_: object) -> None:
        return None

    async def remembered(self, *_: object) -> Sequence[str]:
        return ()

    def _maybe_cut(self, where: str, number: int) -> None:
        if self.story.cut == (where, number):
            self.kept = list(self.recorder.statements)


class _Slow:
    """The tools, each taking its time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.all, self.problem_with = world.tools.all, world.tools.problem_with

    async def run(self, name: str, arguments: str, context: Any) -> object:
        seconds = self._world.story.tool_seconds
        await self._world.clock.advance(seconds if seconds > 10 else self._world.chance.expovariate(1 / seconds))
        if seconds < 0.01:
            raise RuntimeError("the shelf cannot be reached")
        return await self._world.tools.run(name, arguments, context)


def run(work: Any) -> Any:
    """The result of a coroutine, on the one loop of this program."""
    return _loop().run_until_complete(work)


_loops: list[asyncio.AbstractEventLoop] = []


def _loop() -> asyncio.AbstractEventLoop:
    if not _loops:
        _loops.append(asyncio.new_event_loop())
    return _loops[0]
