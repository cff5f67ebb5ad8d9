"""Follows up conversations that went quiet, where the configuration asks for it (TURN-17).

Owns what a follow-up is told. Which conversations are quiet the log says, and whether one was overtaken its surface.
Invariant: a conversation has one follow-up at work, and of each activity of its person at most five in all.
"""

from typing import ClassVar

from phasewalk.machine.words import Kind
from phasewalk.storage.quiet import quiet
from phasewalk.surfaces.background import Background, trigger_for
from phasewalk.surfaces.sections import IdleSection, seconds

TEXT = (
    "The conversation went quiet after your last answer. If something in it is still open, follow up in one or two"
    " sentences. If nothing is, no answer is needed."
)


class Idle:
    """Polls for quiet conversations; their turns are walked by a `Background`."""

    EVERY: ClassVar[float] = 30.0
    """Seconds between two polls at most."""

    def __init__(self, background: Background, section: IdleSection) -> None:
        self._background = background
        self._after_us = int(seconds(section.after) * 1_000_000)
        self._channels = frozenset(name.removeprefix("#") for name in section.channels)

    async def run(self) -> None:
        """Until the process is asked to stop; at once where no channel is named."""
        if self._channels:
            await self._background.polling(self.poll, min(self.EVERY, max(self._after_us / 2e6, 0.1)))

    async def poll(self) -> None:
        """Begin the follow-ups that are due."""
        now_us, log = self._background.clock.now_us(), self._background.app.reader
        for one in quiet(log, now_us, self._after_us, self._channels):
            self._background.begin(f"{one.channel_id}:{one.user_id}", trigger_for(one, one.key, Kind.IDLE, TEXT))
