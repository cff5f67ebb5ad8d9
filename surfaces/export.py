"""Opens a DiscordChatExporter JSON export and gives its messages in order of their ids (MOD-22).

Owns the walk from file to ordered messages and what is tolerated on it; knows neither Discord nor turns.
Invariant: whatever was read before a fault is delivered first, and only then is the fault raised.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from attrs import define, field

from phasewalk.surfaces.export_errors import (
    ExportCutOffError,
    ExportMissingError,
    ExportUnreadableError,
)
from phasewalk.surfaces.export_json import JsonCutOffError, JsonUnreadableError, Part, parts_of
from phasewalk.surfaces.export_messages import ExportInfo, ExportMessage, RecordError, info_of, message_of
from phasewalk.surfaces.export_sort import MessageSorter

MESSAGES_IN_MEMORY = 20_000
"""How many messages are ordered in memory before runs are written to the temporary directory."""


@define
class Export:
    """An export that can be walked as often as one likes; each walk reads the file anew.

    `notes` says in sentences what the last walk tolerated; it is complete when the walk has ended.
    """

    path: Path
    info: ExportInfo
    capacity: int = MESSAGES_IN_MEMORY
    notes: tuple[str, ...] = field(default=(), init=False)

    def __iter__(self) -> Iterator[ExportMessage]:
        """The messages, ascending by id number, each id once.

        Raises:
            ExportCutOffError: after the last message, when the file ends too early.
            ExportUnreadableError: after the last message, when the file is damaged.
        """
        walk = _Walk(self.path)
        self.notes = ()
        delivered = 0
        with TemporaryDirectory(prefix="phasewalk-export-") as folder:
            sorter = MessageSorter(Path(folder), self.capacity)
            walk.read_into(sorter)
            for message in sorter.ordered():
                delivered += 1
                yield message
        self.notes = walk.notes(sorter.duplicates)
        walk.raise_fault(delivered)


def open_export(path: Path | str, *, capacity: int = MESSAGES_IN_MEMORY) -> Export:
    """The export in the file at `path`. Only its head is read here.

    Raises:
        ExportMissingError: there is no such file.
        ExportUnreadableError: it cannot be opened, or is no export.
        ExportCutOffError: it ends before its list of messages begins.
    """
    place = Path(path)
    found: dict[str, object] = {}
    try:
        with _opened(place) as stream:
            for part in parts_of(stream):
                found[part.name] = part.value
                if found.keys() >= {"guild", "channel", "messages"}:
                    break
    except JsonUnreadableError as error:
        if "messages" not in found:
            raise ExportUnreadableError(place, str(error)) from error
    except JsonCutOffError as error:
        if "messages" not in found:
            raise _cut_off(place, 0, "") from error
    return Export(place, info_of(found.get("guild"), found.get("channel"), found.get("exportedAt")), capacity)


@define
class _Walk:
    """One reading of the file: counts what it meets, and keeps the fault for later."""

    path: Path
    records: int = 0
    claimed: int | None = None
    last_id: str = ""
    skipped: Counter[str] = field(factory=Counter)
    fault: Exception | None = None

    def read_into(self, sorter: MessageSorter) -> None:
        """Read until the end or the first fault."""
        with _opened(self.path) as stream:
            try:
                for part in parts_of(stream):
                    self._take(part, sorter)
            except (JsonCutOffError, JsonUnreadableError) as fault:
                self.fault = fault

    def _take(self, part: Part, sorter: MessageSorter) -> None:
        if part.name == "messageCount" and isinstance(part.value, int):
            self.claimed = part.value
        if part.name != "message":
            return
        self.records += 1
        try:
            message = message_of(part.value)
        except RecordError as error:
            self.skipped[str(error)] += 1
            return
        self.last_id = message.message_id
        sorter.add(message)

    def notes(self, duplicates: int) -> tuple[str, ...]:
        """What was tolerated, a sentence each."""
        found = [f"{count} record(s) skipped: {reason}" for reason, count in sorted(self.skipped.items())]
        if duplicates:
            found.append(f"{duplicates} duplicate record(s) dropped: an id that stands twice is read once")
        if self.claimed not in (None, self.records):
            found.append(f"messageCount says {self.claimed}, but {self.records} record(s) were read")
        return tuple(f"{self.path}: {note}" for note in found)

    def raise_fault(self, delivered: int) -> None:
        """Raise what stopped the reading, if anything did."""
        match self.fault:
            case None:
                return
            case JsonCutOffError():
                raise _cut_off(self.path, delivered, self.last_id) from self.fault
            case _:
                raise ExportUnreadableError(self.path, f"{self.fault}; {_so_far(delivered, self.last_id)}")


def _opened(path: Path) -> IO[bytes]:
    """The file as bytes."""
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise ExportMissingError(path, "no such file; give the path of a DiscordChatExporter JSON export") from error
    except OSError as error:
        problem = f"the file cannot be opened ({error.strerror}); give the path of a readable JSON export"
        raise ExportUnreadableError(path, problem) from error


def _cut_off(path: Path, delivered: int, last_id: str) -> ExportCutOffError:
    problem = f"the export is cut off: the file ends before its JSON does; {_so_far(delivered, last_id)}"
    return ExportCutOffError(path, problem, delivered, last_id)


def _so_far(delivered: int, last_id: str) -> str:
    if not delivered:
        return "no message was read before that"
    return f"{delivered} message(s) were read before that, the last one is {last_id}"
