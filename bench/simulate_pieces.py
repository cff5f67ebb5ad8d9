"""Texts in pieces: what every copy of a turn has alike, and the names that each has of its own.

Owns the filling in, and that a long text leaves its row for a payload (LOG-12). Knows no statement.
"""

import json
import random
from typing import Any

from attrs import define, field, frozen

from phasewalk.machine.documents import SPILL_OVER, digest_of


@frozen
class Pieces:
    """A text in pieces: constants, and the numbers of names; `spills` when it leaves a row once it is long."""

    parts: tuple["str | int | Pieces | tuple[str, int]", ...]
    spills: bool = False


@frozen
class Row:
    """One statement: its values, and where which of them is made anew."""

    sql: str
    base: list[Any]
    instants: tuple[tuple[int, int], ...]
    monos: tuple[tuple[int, int], ...]
    names: tuple[tuple[int, int], ...]
    texts: tuple[tuple[int, Pieces], ...]


@define
class Copy:
    """One turn of the month in the making. `names` begin with those of `FIXED`."""

    chance: random.Random
    turn_id: str
    key: str
    t0: int
    mono0: int
    names: list[str]
    history_chars: int
    spilled: list[tuple[str, str]] = field(factory=list)

    def text(self, pieces: Pieces) -> str:
        """The text, with long literals taken out into payloads."""
        out = []
        for part in pieces.parts:
            if type(part) is str:
                out.append(part)
            elif type(part) is int:
                out.append(self.names[part])
            elif type(part) is tuple:
                kind, number = part
                out.append(str(self.t0 + number if kind == "at" else number + self.history_chars // 3))
            else:
                out.append(self._literal(self.text(part)))
        return "".join(out)

    def _literal(self, literal: str) -> str:
        if len(literal) <= SPILL_OVER:
            return literal
        text = json.loads(literal)
        if len(text) <= SPILL_OVER:
            return literal
        digest = digest_of(text)
        self.spilled.append((digest, text))
        return f'{{"payload":"{digest}"}}'
