"""A request as it came, kept for tests to look at.

Owns which requests speak. Knows no socket. Invariant: a record never changes.
"""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from phasewalk.surfaces.discord_testing.rest_interactions import MESSAGE_NOW
from phasewalk.surfaces.discord_testing.values import Json


@frozen
class Recorded:
    """A request: its path below the API, its body parsed, names and sizes of its files, its unix time in seconds."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    files: tuple[Json, ...]
    reason: str | None
    at: float

    @property
    def pings_whom_it_likes(self) -> bool:
        """Whether it writes a message without saying who may be notified."""
        if not self._speaks:
            return False
        inner = self.body["data"] if isinstance(self.body.get("data"), dict) else self.body
        return "allowed_mentions" not in inner

    @property
    def _speaks(self) -> bool:
        parts = self.path.split("/")
        written = self.method in ("POST", "PATCH") and isinstance(self.body, dict)
        if not written or parts[-1] in ("bulk-delete", "threads"):
            return False
        answers = parts[-1] == "callback" and self.body.get("type") == MESSAGE_NOW
        return answers or parts[1] == "webhooks" or "messages" in parts
