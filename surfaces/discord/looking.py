"""What the commands of Discord show of the log: the text of the command line, made beside the loop.

Owns the thread and its connection, and how a text is made to fit one message. Invariant: what is shown is what
`phasewalk status` and `phasewalk why` print when piped, from a connection that cannot write; what was cut is said.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from phasewalk.storage.database import open_for_reading
from phasewalk.storage.queries import turns_named
from phasewalk.storage.turn_view import turn_item
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.naming import one_turn
from phasewalk.surfaces.cli.output import covers
from phasewalk.surfaces.cli.render import harmless, without_terminal
from phasewalk.surfaces.cli.status import picture_of, screen
from phasewalk.surfaces.cli.times import Zone, now_us
from phasewalk.surfaces.cli.why_lines import why_lines
from phasewalk.surfaces.discord.parts import LIMIT
from phasewalk.surfaces.thresholds import Thresholds

T = TypeVar("T")

FENCE = "```"
_BROKEN_FENCE = "`\N{ZERO WIDTH SPACE}``"


async def status(database: Path, limits: Thresholds) -> list[str]:
    """The lines of `phasewalk status`."""
    return await _looked(database, lambda log: screen(picture_of(log, now_us(), Zone(None), limits), Zone(None)))


async def why(database: Path, name: str, guild_id: str | None) -> list[str]:
    """The lines of `phasewalk why NAME`; with a `guild_id` only of turns of that server, as if there were no others.

    Raises `CommandError` with one sentence where no turn is called so.
    """

    def work(log: sqlite3.Connection) -> list[str]:
        if guild_id is None:
            item = turn_item(log, one_turn(log, name), detail=False)
        else:
            named = turns_named(log, name.strip()) if name.isprintable() else []
            items = [turn_item(log, turn_id, detail=False) for turn_id in named]
            items = [one for one in items if one["guild_id"] == guild_id]
            if len(items) != 1:
                raise CommandError(f"no turn '{harmless(name)}' of this server; {covers(log)}", Exit.NOT_FOUND)
            (item,) = items
        return list(why_lines(item, Zone(None), now_us()))

    return await _looked(database, work)


def fitted(lines: Iterable[str], whole: str) -> str:
    """The lines as one message that shows them letter by letter; `whole` is the command that shows what was cut."""
    kept = [line.replace(FENCE, _BROKEN_FENCE) for line in lines]
    if _units(text := _fenced(kept)) <= LIMIT:
        return text
    for count in range(len(kept) - 1, -1, -1):
        left = len(kept) - count
        text = f"{_fenced(kept[:count])}\n{left} line{'' if left == 1 else 's'} left out; `{whole}` shows all of it"
        if _units(text) <= LIMIT:
            return text
    return f"it is too long for Discord; `{whole}` shows it"


async def _looked(database: Path, work: Callable[[sqlite3.Connection], T]) -> T:
    """What `work` makes of the log, in a thread and on a connection of its own, at one state of the log."""

    def look() -> T:
        with without_terminal(), closing(open_for_reading(database)) as log:
            log.execute("BEGIN")
            return work(log)

    return await asyncio.to_thread(look)


def _fenced(lines: list[str]) -> str:
    return "\n".join([FENCE, *lines, FENCE]) if lines else ""


def _units(text: str) -> int:
    """As Discord counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
