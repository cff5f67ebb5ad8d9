"""A person is forgotten while the bot runs: by the code of `phasewalk forget`, in a process of its own.

Owns what the person is told, and the wish where it cannot be fulfilled now. Why a process of its own: erasing searches
every byte of the file, which would hold up the loop. Invariant: while it works, this process stores every text anew,
so that nothing it writes refers to a text that is gone.
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from phasewalk.machine.documents import digest_of
from phasewalk.machine.text import told
from phasewalk.storage.operators import Action, change
from phasewalk.storage.phase_log import SqlitePhaseLog
from phasewalk.surfaces.cli.exits import Exit

PROGRAM = (sys.executable, "-m", "phasewalk.surfaces.cli")
"""The command line, whatever its name is on this machine."""

NOTHING = "Nothing is kept of you."
TRACES = "What was kept of you is erased; the operator was told that the file may still hold traces of it."
LATER = (
    "You cannot be forgotten at this moment: something of yours is still being worked on. Your wish is written down for"
    " the operator; ask again in a few minutes."
)


class Forgetting:
    """Forgets one person after the other."""

    def __init__(self, database: Path, log: SqlitePhaseLog, say: Callable[[str], None]) -> None:
        """`say` tells the operator what a person need not know."""
        self._database = database
        self._log = log
        self._say = say
        self._one = asyncio.Lock()

    async def forget(self, user_id: str) -> str:
        """Erase the person; one sentence for them."""
        async with self._one, self._log.storing_anew():
            child = await asyncio.create_subprocess_exec(
                *PROGRAM,
                *("--db", str(self._database), "forget", "--user", user_id),
                *("--beside", str(self._log.process_id), "--who", "the person, on Discord"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = (said.decode("utf-8", "replace") for said in await child.communicate())
        if child.returncode == Exit.OK:
            return f"Done: {out.splitlines()[0]}. What stands in the channels of Discord is not touched by this."
        if child.returncode == Exit.NOT_FOUND:
            return NOTHING
        self._say(told(f"forgetting somebody: {' '.join((err or out).split()).removeprefix('phasewalk: ')}"))
        if child.returncode == Exit.INCOMPLETE:
            return TRACES
        await asyncio.to_thread(self._wished, user_id)
        return LATER

    def _wished(self, user_id: str) -> None:
        """Write down that somebody wants to be forgotten; a digest names them, as in the row of an erasure."""
        wish = Action("the person, on Discord", "asked to be forgotten", digest_of(user_id), None, None)
        change(self._database, lambda _log, _now: wish)
