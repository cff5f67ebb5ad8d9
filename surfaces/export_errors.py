"""What can be wrong with a chat export, each fault a class and a sentence of its own.

Owns the faults and the word (`kind`) by which a command picks its exit status; knows nothing of reading.
Invariant: every sentence names the file, what was found, and what would be accepted.
"""

from pathlib import Path
from typing import ClassVar, Literal

from phasewalk.machine.errors import ExportError

FaultKind = Literal["missing", "unreadable", "cut_off"]


class ExportFileError(ExportError):
    """An export that cannot be read to its end. `kind` is closed, so that commands can map it to a status."""

    kind: ClassVar[FaultKind] = "unreadable"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class ExportMissingError(ExportFileError):
    """There is no file of this name."""

    kind: ClassVar[FaultKind] = "missing"


class ExportUnreadableError(ExportFileError):
    """Something else than a DiscordChatExporter JSON export, or damaged in the middle."""


class ExportCutOffError(ExportFileError):
    """The file ends too early; everything before the cut has been delivered (MOD-22).

    `messages_read` counts what was delivered, `last_id` is the last complete message of the file, "" if there is none.
    """

    kind: ClassVar[FaultKind] = "cut_off"

    def __init__(self, path: Path, problem: str, messages_read: int = 0, last_id: str = "") -> None:
        super().__init__(path, problem)
        self.messages_read = messages_read
        self.last_id = last_id
