"""Feeds chat exports through the machine, message by message, each channel in its own order.

Owns what of an export opens a turn, and the tally of a feed. Deliveries go to the log only. Invariant: a
message that has a turn already gets no second one, so a feed can be repeated and resumed (TURN-10).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import define, field, frozen

from phasewalk.machine.reasons import Reason
from phasewalk.machine.trigger import Trigger
from phasewalk.phases.received import matches_short_path
from phasewalk.surfaces.export import Export
from phasewalk.surfaces.export_addressing import ignored_reason, is_own, trigger_of
from phasewalk.surfaces.export_errors import ExportFileError
from phasewalk.surfaces.export_messages import ExportMessage
from phasewalk.surfaces.signals import Stopping
from phasewalk.surfaces.wiring import Application


@frozen
class Selection:
    """What of an export is fed: only what speaks to the bot, and at most so many turns."""

    only_mentions: bool = False
    limit: int | None = None


@define
class Tally:
    """What became of the messages of a feed."""

    messages: int = 0
    turns: int = 0
    known: int = 0
    overheard_left_out: int = 0
    lost: int = 0
    problem: str | None = None
    outcomes: Counter[str] = field(factory=Counter)
    ignored: Counter[str] = field(factory=Counter)
    notes: list[str] = field(factory=list)
    errors: list[ExportFileError] = field(factory=list)

    @property
    def full(self) -> bool:
        """Whether nothing was left over."""
        return not self.errors and self.problem is None


class Feed:
    """One run of `phasewalk feed`."""

    def __init__(
        self,
        app: Application,
        selection: Selection,
        stopping: Stopping,
        watch: Callable[[Tally], None],
    ) -> None:
        """`stopping` ends the feed before its next message; `watch` sees the tally at each."""
        self._app = app
        self._selection = selection
        self._stopping = stopping
        self._watch = watch
        self.tally = Tally()

    async def run(self, exports: Iterable[tuple[Path, Export]], concurrency: int) -> Tally:
        """Feed all exports; those of one channel one after another, channels side by side up to `concurrency`."""
        lanes: dict[str, list[tuple[Path, Export]]] = {}
        for path, export in exports:
            lanes.setdefault(export.info.channel_id or str(path), []).append((path, export))
        gate = asyncio.Semaphore(concurrency)
        await asyncio.gather(*(self._lane(lane, gate) for lane in lanes.values()))
        return self.tally

    async def _lane(self, exports: list[tuple[Path, Export]], gate: asyncio.Semaphore) -> None:
        async with gate:
            for _, export in exports:
                try:
                    await self._export(export)
                except ExportFileError as error:
                    self.tally.errors.append(error)
                self.tally.notes.extend(export.notes)

    async def _export(self, export: Export) -> None:
        own: set[str] = set()
        bot = self._app.settings.bot_name
        for message in export:
            self._watch(self.tally)
            if self._stopping or self._full() or self._held_up():
                return
            self.tally.messages += 1
            if is_own(message, bot):
                own.add(message.message_id)
            trigger = await self._trigger(message, export, own)
            if trigger is not None:
                await self._turn(trigger)
            await asyncio.sleep(0)  # other lanes, the heartbeat and signals get their turn

    def _held_up(self) -> bool:
        """Whether the feed has to end here: the log is lost, or the bot is paused."""
        if self._app.desk.paused:
            self.tally.problem = "the bot is paused (`phasewalk resume` ends that)"
        return self.tally.problem is not None

    def _full(self) -> bool:
        limit = self._selection.limit
        return limit is not None and self.tally.turns + self.tally.known >= limit

    async def _trigger(self, message: ExportMessage, export: Export, own: set[str]) -> Trigger | None:
        """The trigger of a message that opens a turn; others are counted with their reason."""
        settings = self._app.settings
        reason = ignored_reason(message, settings.bot_name)
        archived = matches_short_path(settings, export.info.channel_name, message.author_name)
        if reason is Reason.OWN_MESSAGE or (reason is not None and not archived):
            self.tally.ignored[reason] += 1
            await self._app.log.count_ignored(export.info.channel_id, reason)
            return None
        trigger = trigger_of(message, export.info, settings.bot_name, (), own)
        if self._selection.only_mentions and trigger.addressed is None:
            self.tally.overheard_left_out += 1
            return None
        return trigger

    async def _turn(self, trigger: Trigger) -> None:
        ended = await self._app.run(trigger)
        if ended.known:
            self.tally.known += 1
            return
        self.tally.turns += 1
        if ended.log_lost:  # a log that cannot be written now will not take the next turn either: the feed ends
            self.tally.lost += 1
            self.tally.problem = ended.problem
            return
        if ended.turn is not None and ended.turn.outcome is not None:
            self.tally.outcomes[ended.turn.outcome] += 1
        if not self._stopping:
            await self._app.sum_up(trigger.channel_id, trigger.channel_name)
