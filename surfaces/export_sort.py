"""Orders messages by id number in bounded memory: a buffer, sorted runs on disk, and a merge.

Owns the runs, which live in a folder of the caller's; knows of a message its number and its line.
Invariant: no more than `capacity` messages are held, and of two with one id the first that came is kept.
"""

import heapq
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

from attrs import define, field

from phasewalk.surfaces.export_messages import ExportMessage, message_of_line

_OPEN_RUNS = 64
"""As many files are open at once; with more runs than that the oldest are merged into one first."""


@define
class _Run:
    """A file of messages in ascending order, and the number of its last one."""

    path: Path
    last: int


@define
class MessageSorter:
    """Takes messages in any order and gives them back ascending, once each.

    `folder` is an empty directory for runs, `capacity` the number of messages held in memory.
    `duplicates` counts what `ordered` has dropped.
    """

    folder: Path
    capacity: int
    duplicates: int = 0
    _buffer: list[ExportMessage] = field(factory=list, init=False)
    _runs: list[_Run] = field(factory=list, init=False)
    _made: int = field(default=0, init=False)

    def add(self, message: ExportMessage) -> None:
        """Take one message."""
        self._buffer.append(message)
        if len(self._buffer) >= self.capacity:
            self._spill()

    def ordered(self) -> Iterator[ExportMessage]:
        """Everything that was added, ascending by number, without duplicates."""
        self._buffer.sort(key=_number)
        previous = None
        with ExitStack() as files:
            for message in heapq.merge(*self._opened(self._runs, files), self._buffer, key=_number):
                if message.number == previous:
                    self.duplicates += 1
                    continue
                previous = message.number
                yield message

    def _spill(self) -> None:
        """Move the buffer to disk; a file in order, as most are, ever lengthens the same run."""
        self._buffer.sort(key=_number)
        first, last = self._buffer[0].number, self._buffer[-1].number
        if self._runs and first > self._runs[-1].last:
            self._runs[-1].last = last
        else:
            if len(self._runs) >= _OPEN_RUNS:
                self._merge_runs()
            self._runs.append(_Run(self._new_path(), last))
        _write(self._runs[-1].path, self._buffer)
        self._buffer.clear()

    def _merge_runs(self) -> None:
        """Make one run of all; it stays first, so the first of two equal ids still wins."""
        merged = _Run(self._new_path(), max(run.last for run in self._runs))
        with ExitStack() as files:
            _write(merged.path, heapq.merge(*self._opened(self._runs, files), key=_number))
        for run in self._runs:
            run.path.unlink()
        self._runs = [merged]

    def _new_path(self) -> Path:
        self._made += 1
        return self.folder / f"run-{self._made}.jsonl"

    @staticmethod
    def _opened(runs: list[_Run], files: ExitStack) -> list[Iterator[ExportMessage]]:
        return [map(message_of_line, files.enter_context(run.path.open(encoding="utf-8"))) for run in runs]


def _write(path: Path, messages: Iterable[ExportMessage]) -> None:
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.writelines(chain.from_iterable((message.line(), "\n") for message in messages))


def _number(message: ExportMessage) -> int:
    return message.number
