"""Pausing and resuming the bot: the two changes of the flag, each with what its audit row says (LOG-15).

Owns the writing of `runner_flag`. Knows no way of printing. Invariant: a flag that stands already is not touched, so
that since when, by whom and why stay those of the first who paused.
"""

import sqlite3
from pathlib import Path

from phasewalk.machine.redaction import Redactor
from phasewalk.machine.text import storable
from phasewalk.storage.flags import PAUSED, Flag, paused
from phasewalk.storage.operators import Action, change

LONGEST_NOTE = 200
"""Characters of a note that are kept; it has to fit a line or two of the first screen."""

TARGET = "bot"


def one_line(note: str) -> str:
    """A note as it is kept: storable, in one line, without secrets, cut with a mark."""
    said = Redactor()(" ".join(storable(note).split()))
    return said if len(said) <= LONGEST_NOTE else f"{said[: LONGEST_NOTE - 1]}…"


def pause(path: Path, who: str, note: str = "") -> tuple[Flag, bool]:
    """Set the flag; how it stands now, and whether that changed anything.

    Raises as `change` does.
    """
    told = one_line(note)
    stood: list[Flag] = []

    def work(log: sqlite3.Connection, now_us: int) -> Action | None:
        before = paused(log)
        stood.append(before or Flag(now_us, who, told))
        if before is not None:
            return None
        log.execute(
            "INSERT INTO runner_flag (name, since_us, set_by, note) VALUES (?, ?, ?, ?)", (PAUSED, now_us, who, told)
        )
        return Action(who, "pause", TARGET, None, {"since_us": now_us, "note": told})

    action = change(path, work)
    return stood[0], action is not None


def resume(path: Path, who: str) -> Flag | None:
    """Take the flag away; how it stood, None where it was not set.

    Raises as `change` does.
    """
    stood: list[Flag] = []

    def work(log: sqlite3.Connection, _now_us: int) -> Action | None:
        before = paused(log)
        if before is None:
            return None
        stood.append(before)
        log.execute("DELETE FROM runner_flag WHERE name = ?", (PAUSED,))
        return Action(who, "resume", TARGET, before._asdict(), None)

    change(path, work)
    return stood[0] if stood else None
