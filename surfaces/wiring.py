"""Puts the parts together: the only file that knows all of them.

Owns the life of the open log and of the providers' clients. Invariant: what it opens it closes, and the process
row says how this process ended.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attrs import define, frozen

from phasewalk.machine.deadlines import Clock, SystemClock
from phasewalk.machine.limits import Limits
from phasewalk.machine.ports import Ports, Settings, Surface, TurnLog
from phasewalk.machine.provider import Provider
from phasewalk.machine.runner import Ended, Runner
from phasewalk.machine.trigger import Trigger, kind_of
from phasewalk.machine.walk import TurnEffects
from phasewalk.machine.words import Kind
from phasewalk.phases.machine import summary_machine, turn_machine
from phasewalk.phases.providers.openai_client import OpenAIProvider
from phasewalk.phases.providers.rules import RulesProvider, load_rules
from phasewalk.phases.summary.freeze_contract import writers
from phasewalk.phases.tools import history, memory, notes, tasks
from phasewalk.phases.tools.modules import load_modules
from phasewalk.phases.tools.registry import AnyTool, Registry
from phasewalk.phases.vocabulary import Vocabulary
from phasewalk.storage.approvals import SqliteApprovals
from phasewalk.storage.circuits import SqliteCircuits
from phasewalk.storage.cursors import SqliteCursors
from phasewalk.storage.database import open_for_reading, open_for_writing
from phasewalk.storage.history import SqliteMemory
from phasewalk.storage.jobs import SqliteJobs
from phasewalk.storage.phase_log import SqlitePhaseLog
from phasewalk.storage.retelling import SqliteRetelling
from phasewalk.storage.shelf import SqliteShelf
from phasewalk.storage.writer import Writer
from phasewalk.surfaces.admission import Desk
from phasewalk.surfaces.ids import SystemIds
from phasewalk.surfaces.policy_names import check_names
from phasewalk.surfaces.recovery import Recovery
from phasewalk.surfaces.sections import Configuration
from phasewalk.surfaces.settings import Backend, backends, bounds_of, settings_of

SUMMARY = "summary"
"""The kind of key of a summary's trigger."""


@define
class Application:
    """The running whole: walk turns with `run`, look at the log with `reader`."""

    settings: Settings
    runner: Runner
    summaries: Runner
    memory: SqliteMemory
    log: SqlitePhaseLog
    reader: sqlite3.Connection
    backends: tuple[Backend, ...]
    recovery: Recovery
    cursors: SqliteCursors
    jobs: SqliteJobs
    clock: Clock
    desk: Desk
    retelling: SqliteRetelling

    async def run(self, trigger: Trigger, limits: Limits | None = None) -> Ended:
        """Walk one turn."""
        return await self.runner.run(trigger, limits or self.settings.limits)

    @property
    def runners(self) -> tuple[Runner, ...]:
        """Everything that walks turns."""
        return self.runner, self.summaries

    async def sum_up(self, channel_id: str, channel_name: str) -> Ended | None:
        """Sum up what left the channel's window, where enough has and a model can be asked (ENV-31)."""
        after = self.settings.summary_after
        if not after or not writers(self.settings.candidates):
            return None
        due = self.memory.summary_due(channel_id, after)
        if due is None:
            return None
        first, entries = due
        trigger = Trigger(
            key=f"{SUMMARY}:{channel_id}:{first}:{entries // after}",  # one that failed is tried again later
            kind=Kind.IDLE,
            text="",
            channel_id=channel_id,
            channel_name=channel_name,
            user_id="",
            user_name="",
        )
        return await self.summaries.run(trigger, self.settings.limits)


def providers_of(found: list[Backend], configuration: Configuration) -> dict[str, Provider]:
    """A provider for each backend that can be asked; the others are skipped by their candidates."""
    made: dict[str, Provider] = {}
    for backend in found:
        section = backend.section
        if section.api == "rules":
            rules = configuration.beside(section.rules) if section.rules else None
            faq = configuration.beside(section.faq) if section.faq else None
            made[section.name] = RulesProvider(load_rules(rules, faq))
        elif backend.key is not None:
            made[section.name] = OpenAIProvider(base_url=backend.base_url, api_key=backend.key or "unused")
    return made


def effective(configuration: Configuration, found: Sequence[Backend], settings: Settings) -> dict[str, object]:
    """The configuration as it counts, for the log: with the candidates, and whether there is a key, not which."""
    asked = [f"{candidate.provider}/{candidate.model}" for candidate in settings.candidates]
    keys = {backend.section.name: backend.key is not None for backend in found}
    return {**configuration.model_dump(mode="json", by_alias=True), "candidates": asked, "keys": keys}


@asynccontextmanager
async def application(
    configuration: Configuration,
    database: Path,
    surface: Surface,
    command: str,
    *,
    reached: Mapping[str, Surface] | None = None,
) -> AsyncIterator[Application]:
    """Open everything, write down that this process begins, and close in order.

    `reached` says, by the kind of their trigger's key, where turns speak that this process may settle for others;
    all others speak on `surface`.

    Raises `ConfigurationError` and `StorageError` as their parts do, before anything is written.
    """
    found = backends(configuration)
    settings = settings_of(configuration, found)
    providers = providers_of(found, configuration)
    own = own_tools(configuration, settings)
    writer = Writer(open_for_writing(database), database)
    reader = open_for_reading(database)
    clock, ids = SystemClock(), SystemIds()
    log = SqlitePhaseLog(writer, reader, clock, settings.redact, configuration.limits.lease)
    machine, summing = turn_machine(), summary_machine()
    shelf = SqliteShelf(writer, reader, settings.redact)
    tools = registry_of(own, shelf)
    circuits, approvals = SqliteCircuits(writer, reader), SqliteApprovals(writer, settings.redact)
    desk = Desk(bounds_of(configuration.limits), clock, reader)
    places = {SUMMARY: surface, **reached} if reached is not None else {}
    world = _World(settings, clock, ids, providers, tools, surface, places, reader, circuits, approvals, desk)
    runner = Runner(machine, log, clock, ids, world.ports)
    summaries = Runner(summing, log, clock, ids, world.ports)
    tables = [machine.table, summing.table]
    await log.start(tables, command, version("phasewalk"), effective(configuration, found, settings))
    beating = asyncio.ensure_future(_beat(log, configuration.limits.heartbeat))
    try:
        walking = {machine.table.name: runner, summing.table.name: summaries}
        recovery = Recovery(reader, clock, walking, settings.limits, log.process_id, places)
        yield Application(
            settings=settings,
            runner=runner,
            summaries=summaries,
            memory=SqliteMemory(reader),
            log=log,
            reader=reader,
            backends=tuple(found),
            recovery=recovery,
            cursors=SqliteCursors(writer, reader, clock),
            jobs=SqliteJobs(writer, reader),
            clock=clock,
            desk=desk,
            retelling=SqliteRetelling(writer, settings.redact),
        )
        why = "finished"
    except BaseException as error:
        why = f"stopped by {type(error).__name__}"
        raise
    finally:
        beating.cancel()
        with suppress(Exception):
            await log.end(why)
        reader.close()  # before the writer, which then can empty the WAL into the file as the last one out
        await writer.close()
        await _close(providers)


def own_tools(configuration: Configuration, settings: Settings) -> Sequence[AnyTool]:
    """The operator's tools; raises `ConfigurationError` also where `[policy]` names what does not exist."""
    own = load_modules(configuration.tools.modules, configuration.folder.absolute()).tools
    _check_policy(configuration, settings, own)
    return own


def registry_of(own: Sequence[AnyTool], shelf: Any) -> Registry:
    """Every tool that exists; without a shelf those that ship cannot run."""
    return Registry([*_shipped(shelf), *own])


def _shipped(shelf: Any) -> list[AnyTool]:
    """The tools that ship; one looks at its shelf only when it runs."""
    return [tool for family in (notes, tasks, memory, history) for tool in family.tools(shelf)]


def _check_policy(configuration: Configuration, settings: Settings, own: Sequence[AnyTool]) -> None:
    tools = {tool.name for tool in (*_shipped(None), *own)}
    check_names(configuration.policy, tools, families_known(settings, own))


def families_known(settings: Settings, own: Sequence[AnyTool]) -> set[str]:
    """Every family that has words or tools."""
    vocabulary = settings.vocabulary
    known = {family.name for family in vocabulary.families} if isinstance(vocabulary, Vocabulary) else set()
    return known | {tool.info.family for tool in (*_shipped(None), *own)}


@frozen
class _World:
    """What every turn's ports have in common."""

    settings: Settings
    clock: SystemClock
    ids: SystemIds
    providers: Mapping[str, Provider]
    tools: Registry
    surface: Surface
    reached: Mapping[str, Surface]
    reader: sqlite3.Connection
    circuits: SqliteCircuits
    approvals: SqliteApprovals
    desk: Desk

    def ports(self, trigger: Trigger, log: TurnLog, effects: TurnEffects, keep: Callable[..., None]) -> Ports:
        """The world of one turn."""
        return Ports(
            settings=self.settings,
            clock=self.clock,
            ids=self.ids,
            log=log,
            effects=effects,
            memory=SqliteMemory(self.reader),
            tools=self.tools,
            providers=self.providers,
            surface=self.reached.get(kind_of(trigger.key), self.surface),
            admission=self.desk,
            circuits=self.circuits,
            approvals=self.approvals,
            keep=keep,
        )


async def _beat(log: SqlitePhaseLog, every: float) -> None:
    """Say at intervals that this process lives."""
    while True:
        await asyncio.sleep(every)
        with suppress(Exception):  # a heartbeat that cannot be written is missed, and seen to be
            await log.heartbeat()


async def _close(providers: Mapping[str, Provider]) -> None:
    for provider in providers.values():
        aclose = getattr(provider, "aclose", None)
        if aclose is not None:
            await aclose()
