"""Which texts turns refer to: questions, prompts, answers, arguments, results, and what was taken out of details.

Owns the list of places where the digest of a payload may stand. Changes nothing.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

IN_TURNS = "(SELECT value FROM json_each(:turns))"
"""The ids of turns, bound as a JSON list."""

_DETAIL = "CASE WHEN detail LIKE '%\"payload\"%' AND json_valid(detail) THEN detail END"
_REFERENCES = (
    f"SELECT text_digest FROM turn WHERE turn_id IN {IN_TURNS}"  # noqa: S608 - pieces of this file, values bound
    f" UNION SELECT request_digest FROM attempt WHERE turn_id IN {IN_TURNS}"
    f" UNION SELECT response_digest FROM attempt WHERE turn_id IN {IN_TURNS}"
    f" UNION SELECT arguments_digest FROM tool_call WHERE turn_id IN {IN_TURNS}"
    f" UNION SELECT result_digest FROM tool_call WHERE turn_id IN {IN_TURNS}"
    f" UNION SELECT part.value FROM phase_event AS e, json_tree({_DETAIL}) AS part"
    f"  WHERE e.turn_id IN {IN_TURNS} AND part.key = 'payload' AND part.type = 'text'"
    f" UNION SELECT part.value FROM effect AS f JOIN effect_event AS e ON e.effect_id = f.effect_id,"
    f"  json_tree({_DETAIL}) AS part WHERE f.turn_id IN {IN_TURNS} AND part.key = 'payload' AND part.type = 'text'"
)


def parts(whole: Sequence[str], size: int) -> Iterator[list[str]]:
    """`whole` in pieces of at most `size`."""
    for at in range(0, len(whole), size):
        yield list(whole[at : at + size])


def references(log: sqlite3.Connection, turn_ids: Iterable[str]) -> set[str]:
    """The digests of all texts that these turns refer to."""
    found: set[str] = set()
    for some in parts(list(turn_ids), 5000):
        rows = log.execute(_REFERENCES, {"turns": json.dumps(some)})
        found.update(str(digest) for (digest,) in rows if digest is not None)
    return found
