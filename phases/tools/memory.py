"""The tools of the family `memory`: remember, recall, forget. They keep nothing themselves; a shelf does."""

from phasewalk.machine.shelf import Shelf
from phasewalk.machine.tooling import ToolContext
from phasewalk.phases.tools.declare import tool
from phasewalk.phases.tools.registry import AnyTool
from phasewalk.phases.tools.stamps import KeptText, Number, Query, iso, listed

FAMILY = "memory"


def tools(shelf: Shelf) -> list[AnyTool]:
    """The three tools on this shelf. Results say what happened in small JSON objects."""

    @tool(family=FAMILY, name="memory_remember")
    async def remember(text: KeptText, context: ToolContext) -> dict[str, object]:
        """Remember a fact about the person who asks, in every channel; one that is known keeps its number."""
        number = await shelf.remember(context.user_id, text, context.now_us)
        return {"remembered": number, "text": text}

    @tool(family=FAMILY, effect="read_only", name="memory_recall")
    async def recall(context: ToolContext, query: Query = "") -> dict[str, object]:
        """Recall what is remembered about the person who asks; an empty query recalls everything."""
        found = await shelf.recall(context.user_id, query)
        return listed("facts", [{"number": f.number, "text": f.text, "at": iso(f.at_us)} for f in found])

    @tool(family=FAMILY, name="memory_forget")
    async def forget(number: Number, context: ToolContext) -> dict[str, object]:
        """Forget one fact about the person who asks, by its number."""
        return {"forgotten": await shelf.forget(context.user_id, number), "number": number}

    return [remember, recall, forget]
