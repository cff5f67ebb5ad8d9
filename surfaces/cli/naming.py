"""From what an operator typed to one turn (OPS-10)."""

import sqlite3
import sys
from collections.abc import Iterator

from phasewalk.storage.queries import turns_named
from phasewalk.surfaces.cli.exits import CommandError, Exit


def one_turn(log: sqlite3.Connection, name: str) -> str:
    """The turn that `name` means; none or several are one sentence and status 3."""
    found = turns_named(log, name)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(found[:10]) + (", ..." if len(found) > 10 else "")  # noqa: PLR2004 - a screen's worth
        raise CommandError(f"'{name}' may mean {len(found)} turns: {listed}", Exit.NOT_FOUND)
    expected = "expected an id, 4 or more characters of one, 'last', 'last~2', a message link or a message id"
    raise CommandError(f"no turn '{name}'; {expected}", Exit.NOT_FOUND)


def named(log: sqlite3.Connection, names: tuple[str, ...]) -> Iterator[str]:
    """Each turn that is named; `-` stands for the ids on standard input."""
    for name in names:
        if name == "-":
            for line in sys.stdin:
                if line.strip():
                    yield one_turn(log, line.strip())
        else:
            yield one_turn(log, name)
