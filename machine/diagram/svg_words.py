"""What is written in the SVG picture, and how much room it takes.

Owns how any text is made visible in one line, its measure in columns of a fixed-width font, and the lines of a label.
Knows no position. Invariant: a shown word has no blank and no character that XML forbids.
"""

import unicodedata
from collections.abc import Iterable

from phasewalk.machine.diagram.overlay import Mark

LABEL_COLUMNS = 44
"""Longer labels continue on a line below, unless a single word is longer than that."""

BETWEEN = "·"
"""Stands between ids that bear different marks."""


def shown(name: str) -> str:
    """The name as one visible word: blanks as `␣`, what cannot be printed as its escape."""
    return "".join(
        "␣" if char == " " else char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in name
    )


def columns(text: str) -> int:
    """How many columns of a fixed-width font the text fills."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def wrapped(words: Iterable[str], limit: int) -> tuple[str, ...]:
    """The words in lines of `limit` columns at most; a longer word has a line of its own."""
    lines: list[str] = []
    for word in words:
        if lines and columns(lines[-1]) + 1 + columns(word) <= limit:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return tuple(lines)


def listed(names: Iterable[str]) -> list[str]:
    """The names as words with commas behind all but the last."""
    words = [shown(name) for name in names]
    return [*(f"{word}," for word in words[:-1]), *words[-1:]]


def label_lines(ids: Iterable[tuple[str, Mark]]) -> tuple[str, ...]:
    """The label of a route: its ids with their marks, a mark that tells of nothing taken once for all that bear it."""
    groups: dict[str, tuple[list[str], str]] = {}
    for row_id, mark in ids:
        key = row_id if mark.steps or mark.count else ""
        groups.setdefault(key, ([], mark.text))[0].append(shown(row_id))
    words: list[str] = []
    for members, text in groups.values():
        if words:
            words[-1] += f" {BETWEEN}"
        group = [*members, *text.split()]
        whole = " ".join(group)
        words += [whole] if columns(whole) + 2 <= LABEL_COLUMNS else group
    return wrapped(words, LABEL_COLUMNS)
