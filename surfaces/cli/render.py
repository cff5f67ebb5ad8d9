"""Text on a terminal: harmless, measured, and cut or wrapped only where there is a terminal (OPS-14).

Owns how wide a character is and which ones are shown by their number. Knows nothing of turns.
Invariant: nothing that somebody wrote in a chat can move the cursor, hide text or turn its direction.
"""

import json
import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from phasewalk.surfaces.comparing import excerpts

DEFAULT_WIDTH = 80
MIN_WIDTH = 40
NARROWEST_CELL = 6
LONG_TEXT = 240
"""Of two longer texts only the place where they part is shown."""

_JOINERS = "\u200c\u200d"
"""Invisible, needed inside emoji and words of several scripts, and without power over what stands beside them."""

_CUT = "…"


_ELSEWHERE: ContextVar[bool] = ContextVar("elsewhere", default=False)


@contextmanager
def without_terminal() -> Iterator[None]:
    """Within this block, in this thread or task, text is made as for a pipe, whatever standard output is."""
    token = _ELSEWHERE.set(True)
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)


def _on_terminal() -> bool:
    return not _ELSEWHERE.get() and sys.stdout.isatty()


def plain(value: object) -> str:
    """A value as people read it: text as it is, anything else as JSON. Not harmless yet."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def harmless(text: object) -> str:
    r"""`text` in one line, each control, format and unassigned character shown as its escape, `\x1b` or `\u202e`."""
    said = str(text)
    if said.isprintable():
        return said
    return "".join(c if c.isprintable() or c in _JOINERS else _escape(c) for c in said)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def width_of(text: str) -> int:
    """How many columns harmless text takes: wide characters two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clip(text: str, columns: int | None) -> str:
    """`text` cut to so many columns, the cut marked; None cuts nothing."""
    if columns is None or width_of(text) <= columns:
        return text
    kept, used = "", 0
    for character in text:
        used += _columns(character)
        if used > max(columns - 1, 0):
            break
        kept += character
    return kept + _CUT


def wrap(text: str, columns: int | None, indent: str = "") -> list[str]:
    """`text` in lines of so many columns, broken at blanks, the later ones indented; None breaks nothing."""
    if columns is None or width_of(text) <= columns:
        return [text]
    lead = text[: len(text) - len(text.lstrip(" "))]
    first, *words = text[len(lead) :].split(" ")
    lines, line = [], lead + first
    for word in words:
        if width_of(line) + 1 + width_of(word) > columns:
            lines.append(line.rstrip())
            line = indent + word
        else:
            line = f"{line} {word}"
    return [*lines, line]


def pad(text: str, columns: int) -> str:
    """`text` filled up with blanks to so many columns."""
    return text + " " * max(columns - width_of(text), 0)


def terminal_width() -> int | None:
    """The columns of the terminal; None when standard output is none, and nothing may be cut."""
    if not _on_terminal():
        return None
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal():
        return max(int(said), MIN_WIDTH)
    try:
        return max(os.get_terminal_size(sys.stdout.fileno()).columns or DEFAULT_WIDTH, MIN_WIDTH)
    except (OSError, ValueError):
        return DEFAULT_WIDTH


def table(head: Sequence[str], lines: Sequence[Sequence[object]], width: int | None) -> list[str]:
    """Columns under a head, two blanks apart; on a terminal the widest ones are cut until they fit."""
    cells = [[harmless("" if cell is None else cell) for cell in line] for line in (head, *lines)]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    if width is not None:
        widths = _narrowed(widths, width - 2 * (len(widths) - 1))
    return [
        "  ".join(pad(clip(text, columns), columns) for text, columns in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _narrowed(widths: list[int], room: int) -> list[int]:
    """The widths, the widest one narrowed until they fit or nothing can be taken any more."""
    narrowed = [min(columns, max(room, NARROWEST_CELL)) for columns in widths]
    while sum(narrowed) > room and max(narrowed) > NARROWEST_CELL:
        narrowed[narrowed.index(max(narrowed))] -= 1
    return narrowed


def both_sides(mine: object, theirs: object) -> Iterator[str]:
    """What differs, one side below the other; of two long texts only where they part."""
    if isinstance(mine, str) and isinstance(theirs, str) and max(len(mine), len(theirs)) > LONG_TEXT:
        mine, theirs = excerpts(mine, theirs)
    for mark, value in (("-", mine), ("+", theirs)):
        yield from wrap(harmless(f"  {mark} {_side(value)}"), terminal_width(), "      ")


def _side(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(plain, value)) or "nothing"
    return "nothing" if value is None else plain(value)


def coloured(text: str, code: str) -> str:
    """`text` in a colour on a terminal that wants it; colour is never the only sign."""
    if not _on_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{code}m{text}\x1b[0m"
