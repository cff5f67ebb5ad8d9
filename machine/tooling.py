"""The port to tools: what one declares, what it is told of the turn, and who permits a call.

Owns no behaviour, and knows no family.
"""

from collections.abc import Awaitable, Mapping
from typing import Protocol

from attrs import frozen

from phasewalk.machine.contract import ToolSchema


@frozen
class ToolContext:
    """What a tool is told about who asks; the chat's fields are empty in background turns (TURN-17).

    Those are channel, server and `readable_channels`, the ids of the channels that the person may read, as far as
    that is known: whoever needs a chat to act in has none there. `kept_in` is the channel in which the notes and tasks
    that are meant are kept, in a background turn too.
    """

    turn_id: str
    user_id: str
    user_name: str
    channel_id: str
    channel_name: str
    guild_id: str
    now_us: int
    readable_channels: tuple[str, ...] = ()
    kept_in: str = ""

    @property
    def shelf(self) -> str:
        """The channel whose notes, tasks and messages are meant."""
        return self.kept_in or self.channel_id


@frozen
class ToolInfo:
    """A registered tool, without its code."""

    schema: ToolSchema
    family: str
    mutating: bool
    timeout: float | None = None
    required_for: str = ""
    owner_only: bool = False
    approval: bool = False
    speaks: bool = False


@frozen
class ApprovalCall:
    """A call that needs a permission; `arguments` are JSON with sorted keys, so that equal calls are equal texts."""

    turn_id: str
    tool: str
    arguments: str
    user_id: str
    user_name: str
    channel_id: str
    now_us: int


class Approvals(Protocol):
    """Permissions of single tool calls: exactly this tool with these arguments, for this person, once (CON-26)."""

    async def take(self, call: ApprovalCall) -> bool:
        """Use up a permission of this call; False when there is none."""

    async def ask(self, call: ApprovalCall) -> str:
        """List the call as waiting for a permission; the id to permit it by, the same for the same call."""


class Tools(Protocol):
    """The tools that exist."""

    def all(self) -> Mapping[str, ToolInfo]:
        """Every registered tool by name."""

    def problem_with(self, name: str, arguments: str) -> str | None:
        """What is wrong with these arguments, in one sentence, or None."""

    def run(self, name: str, arguments: str, context: ToolContext) -> Awaitable[object]:
        """Run a tool whose arguments have been checked; anything it raises is its failure."""
