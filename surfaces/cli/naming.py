"""From what an operator typed to one turn (OPS-10).

Owns the sentences about names that mean no turn or several. Invariant: a name that could mean two turns means none.
"""

import json
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

from phasewalk.storage.queries import list_turns, turns_named
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import covers
from phasewalk.surfaces.cli.render import harmless

LISTED = 10


def one_turn(log: sqlite3.Connection, name: str) -> str:
    """The turn that `name` means; none or several are one sentence and status 3."""
    name = name.strip()
    found = turns_named(log, name) if name.isprintable() else []
    if len(found) > 1:
        _ambiguous(log, name, found)
    if not found:
        expected = "expected an id, 4 or more characters of one, 'last', 'last~2', a message link or a message id"
        raise CommandError(f"no turn '{harmless(name)}'; {expected}; {covers(log)}", Exit.NOT_FOUND)
    return found[0]


def _ambiguous(log: sqlite3.Connection, name: str, found: list[str]) -> NoReturn:
    """List the candidates with what tells them apart."""
    candidates = list_turns(log, {"ids": json.dumps(found[:LISTED])}, retrying=False, where=None, limit=LISTED)
    lines = [
        f"  {c['turn_id']}  {c['started']}  {c['outcome']}  #{c['channel_name']} {c['user_name']}" for c in candidates
    ]
    more = ["  and more"] if len(found) > LISTED else []
    raise CommandError("\n".join([f"'{name}' may mean:", *map(harmless, lines), *more]), Exit.NOT_FOUND)


def names_of(arguments: Iterable[str]) -> list[str]:
    """The names that are typed; `-` stands for the first word of each line on standard input.

    A line that is a JSON object, as `list --jsonl` prints them, names its `turn_id`.
    """
    names: list[str] = []
    for argument in arguments:
        if argument == "-":
            names += [_named_in(line) for line in sys.stdin if line.strip()]
        else:
            names.append(argument)
    if not names:
        raise CommandError("no turn is named on standard input", Exit.NOT_FOUND)
    return names


def _named_in(line: str) -> str:
    if line.lstrip().startswith("{"):
        with suppress(ValueError, KeyError, RecursionError):
            return str(json.loads(line)["turn_id"])
    return line.split(maxsplit=1)[0]
