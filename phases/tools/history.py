"""The tool of the family `history`: a search of what was said in channels that the person may read.

Owns how a finding is shown. Does not search itself; a shelf does. Invariant: no channel is searched but those that
the context names, and without such a list only the one that the person speaks in.
"""

from typing import Annotated

from pydantic import Field, StringConstraints

from phasewalk.machine.shelf import Found, Shelf
from phasewalk.machine.text import clipped, first_place
from phasewalk.machine.tooling import ToolContext
from phasewalk.phases.tools.declare import tool
from phasewalk.phases.tools.registry import AnyTool
from phasewalk.phases.tools.stamps import Item, iso, listed

FAMILY = "history"

EXCERPT = 200
"""Characters of a message that a finding shows."""

BEFORE = 60
"""So many of them stand before the first word that was looked for."""

AUTHOR = 80
"""Characters of an author's name that a finding shows."""

Sought = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
Limit = Annotated[int, Field(ge=1, le=25)]


def tools(shelf: Shelf) -> list[AnyTool]:
    """The one tool on this shelf."""

    @tool(family=FAMILY, effect="read_only", name="history_search")
    async def search(query: Sought, context: ToolContext, limit: Limit = 10) -> dict[str, object]:
        """Search what was said in the channels that the person who asks may read: messages that hold each word of
        the query, in any case, newest last. Every character counts; there are no operators and no quotes.
        """
        channels = tuple(channel for channel in context.readable_channels or (context.shelf,) if channel)
        findings = await shelf.search(channels, query, limit)
        word = query.casefold().split()[0]
        shown = [_shown(hit, word, context.shelf) for hit in reversed(findings.found)]
        result = {"sought": query} | listed("found", shown)
        return result if findings.back_to_us is None else {**result, "searched_back_to": iso(findings.back_to_us)}

    return [search]


def _shown(hit: Found, word: str, here: str) -> Item:
    shown: Item = {"at": iso(hit.at_us), "author": clipped(hit.author, AUTHOR), "text": excerpt(hit.text, word)}
    return shown if hit.channel_id == here else {**shown, "channel": hit.channel_id}


def excerpt(text: str, word: str) -> str:
    """`text`, or the `EXCERPT` characters of it around the first place of `word`, which is casefolded; cuts marked."""
    if len(text) <= EXCERPT:
        return text
    begin, _ = first_place(text, [word])
    start = max(min(begin - BEFORE, len(text) - EXCERPT), 0)
    middle = text[start : start + EXCERPT]
    return f"{'…' if start else ''}{middle}{'…' if start + EXCERPT < len(text) else ''}"
