"""Text on a terminal: harmless, measured, and cut only where there is a terminal (OPS-14)."""

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence

_SHOWN = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
DEFAULT_WIDTH = 80
MIN_WIDTH = 40


def harmless(text: object) -> str:
    """`text` with control, direction and unassigned characters shown as text; one line."""
    return "".join(_shown(char) for char in str(text))


def _shown(char: str) -> str:
    if char in _SHOWN:
        return _SHOWN[char]
    if unicodedata.category(char) in _HIDDEN and char != "\u200d":
        return f"\\u{ord(char):04x}" if ord(char) > 0xFF else f"\\x{ord(char):02x}"
    return char


def width_of(text: str) -> int:
    """How many columns `text` takes: wide characters two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    flat = sum(unicodedata.combining(char) != 0 or char in "\u200d\ufe0f" for char in text)
    return len(text) + wide - flat


def clip(text: str, columns: int | None) -> str:
    """`text` cut to so many columns, the cut marked; None cuts nothing."""
    if columns is None or width_of(text) <= columns:
        return text
    kept, used = "", 0
    for char in text:
        used += width_of(char)
        if used > max(columns - 1, 0):
            break
        kept += char
    return kept + "…"


def pad(text: str, columns: int) -> str:
    """`text` filled up with blanks to so many columns."""
    return text + " " * max(columns - width_of(text), 0)


def terminal_width() -> int | None:
    """The columns of the terminal; None when standard output is none, and nothing may be cut."""
    if not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns, MIN_WIDTH)


def table(head: Sequence[str], lines: Sequence[Sequence[object]], width: int | None) -> list[str]:
    """Columns under a head, two blanks apart; the last one is cut at the terminal's edge."""
    cells = [[harmless("" if cell is None else cell) for cell in line] for line in lines]
    widths = [max(width_of(text) for text in column) for column in zip(head, *cells, strict=True)]
    return [
        clip("  ".join(pad(text, w) for text, w in zip(row, widths, strict=True)).rstrip(), width)
        for row in (list(head), *cells)
    ]


def coloured(text: str, code: str) -> str:
    """`text` in a colour on a terminal that wants it; colour is never the only sign."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{code}m{text}\x1b[0m"
