"""The tools of the family `notes`: add, list, delete. They keep nothing themselves; a shelf does."""

from phasewalk.machine.shelf import Shelf
from phasewalk.machine.tooling import ToolContext
from phasewalk.phases.tools.declare import tool
from phasewalk.phases.tools.registry import AnyTool
from phasewalk.phases.tools.stamps import KeptText, Number, Query, iso, listed

FAMILY = "notes"


def tools(shelf: Shelf) -> list[AnyTool]:
    """The three tools on this shelf. Results say what happened in small JSON objects."""

    @tool(family=FAMILY, name="notes_add")
    async def add(text: KeptText, context: ToolContext) -> dict[str, object]:
        """Keep a note for the person who asks, in this channel."""
        number = await shelf.add_note(context.user_id, context.shelf, text, context.now_us)
        return {"added": number, "text": text}

    @tool(family=FAMILY, effect="read_only", name="notes_list")
    async def listing(context: ToolContext, find: Query = "") -> dict[str, object]:
        """List the notes that the person who asks has kept in this channel, oldest first; with `find` only those
        that hold each of its words.
        """
        words = find.casefold().split()
        kept = await shelf.notes(context.user_id, context.shelf)
        found = [note for note in kept if all(word in note.text.casefold() for word in words)]
        result = listed("notes", [{"number": n.number, "text": n.text, "at": iso(n.at_us)} for n in found])
        return {"sought": find} | result if find else result

    @tool(family=FAMILY, name="notes_delete")
    async def delete(number: Number, context: ToolContext) -> dict[str, object]:
        """Delete one note of the person who asks, by its number."""
        return {"deleted": await shelf.delete_note(context.user_id, number), "number": number}

    return [add, listing, delete]
