"""The tools of the family `tasks`: add, list, complete. They keep nothing themselves; a shelf does."""

from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from phasewalk.machine.shelf import Shelf, Task
from phasewalk.machine.tooling import ToolContext
from phasewalk.phases.tools.declare import tool
from phasewalk.phases.tools.due import DueError, check_due, due_us
from phasewalk.phases.tools.registry import AnyTool
from phasewalk.phases.tools.stamps import Item, KeptText, Number, iso, listed

FAMILY = "tasks"


def _due(text: str) -> str | None:
    """`text` if it means an instant, None if it is blank: some models fill in every parameter."""
    if not text.strip():
        return None
    try:
        check_due(text)
    except DueError as error:
        raise PydanticCustomError("due", "{said}", {"said": str(error)}) from error
    return text


Due = Annotated[str, AfterValidator(_due)] | None
"""When a task is due, in a form that `due.py` reads; any other refuses the call before it counts as an effect."""


def tools(shelf: Shelf) -> list[AnyTool]:
    """The three tools on this shelf. Results say what happened in small JSON objects."""

    @tool(family=FAMILY, name="tasks_add")
    async def add(text: KeptText, context: ToolContext, due: Due = None) -> dict[str, object]:
        """Keep a task for the person who asks, in this channel. `due` is when to remind them: an ISO 8601 date or
        time, or such as "in 2 hours", "tomorrow 18:00", "friday 9am"; UTC without an offset.
        """
        try:
            at_us = due_us(due, context.now_us) if due is not None else None
        except DueError as error:
            return {"added": None, "problem": f"due {error}"}
        number = await shelf.add_task(context.user_id, context.shelf, text, at_us, context.now_us)
        return {"added": number, "text": text, "due": None if at_us is None else iso(at_us)}

    @tool(family=FAMILY, effect="read_only", name="tasks_list")
    async def listing(context: ToolContext, include_done: bool = False) -> dict[str, object]:  # noqa: FBT001, FBT002 - the model passes it by name
        """List the open tasks of the person who asks in this channel, oldest first; on request the done ones too."""
        found = await shelf.tasks(context.user_id, context.shelf, done=include_done)
        return listed("tasks", [_shown(task) for task in found])

    @tool(family=FAMILY, name="tasks_complete")
    async def complete(number: Number, context: ToolContext) -> dict[str, object]:
        """Mark one open task of the person who asks as done, by its number."""
        return {"completed": await shelf.complete_task(context.user_id, number, context.now_us), "number": number}

    return [add, listing, complete]


def _shown(task: Task) -> Item:
    shown: Item = {"number": task.number, "text": task.text, "at": iso(task.at_us)}
    if task.due_us is not None:
        shown["due"] = iso(task.due_us)
    if task.done_us is not None:
        shown["done"] = iso(task.done_us)
    return shown
