"""The one finishing step that makes the visible text of an answer (ENV-08, ENV-25, ENV-37).

Owns the stripping of `[no_response]`, the unwrapping of links and the check of stickers. Pure; knows no surface
and no turn. Invariant: finishing a finished text changes nothing, because the step runs until nothing changes.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import partial

from attrs import frozen

from phasewalk.machine.text import clipped

_NO_RESPONSE = re.compile(r"[ \t]*\[[ \t]*no_response[ \t]*\]", re.IGNORECASE)
_STICKER = re.compile(r"(?P<before>[ \t]*)\[sticker:[ \t]*(?P<name>[^\[\]\n]*?)[ \t]*\]", re.IGNORECASE)
_CODE = re.compile(
    r"""
    (?<![`\\]) (?P<block>`{3,}) (?!`) .+? (?<!`) (?P=block) (?!`)                         # a block, or code in a line
  | (?<![`\\]) (?P<span>`{1,2}) (?!`) (?:(?!\n[ \t]*\n).)+? (?<!`) (?P=span) (?!`)        # code within a paragraph
  | ^[ ]{0,3} (?P<tildes>~{3,}) [^\n]*\n (?:.*?^[ ]{0,3}(?P=tildes)~*[ \t]*$ | .*\Z)      # a block between tildes
  | ^[ ]{0,3} `{3,} [^`\n]* (?:\n.*)? \Z                                                  # a block never closed
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TOKEN = re.compile(r"[\[\]\\]|\n[ \t]*\n")
_ANGLE = re.compile(r"<([^<>\n]*)>")
_END = re.compile(r"""(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)""")
_ESCAPED = re.compile(r"\\([()\[\]<>])")
_NAME_SHOWN = 40
"""Names that a model invented are cut to this many characters in notes."""

_PARENTHESES_DEEPEST = 32
"""Parentheses nest this deep in a URL at most, as in CommonMark: it bounds the work on a hostile text."""

_BLANK_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
_BLANK_OTHERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(c) for c in range(0xFE00, 0xFE10)}
"""Letters and marks that show nothing: fillers, the empty braille cell, variation selectors."""


@frozen
class Finished:
    """The visible text, None when nothing is to be said, and a note on each thing that was removed."""

    text: str | None
    notes: tuple[str, ...] = ()


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing: blanks, controls, zero-width characters and fillers only."""
    return all(unicodedata.category(char) in _BLANK_CATEGORIES or char in _BLANK_OTHERS for char in text)


def visible_text(answer: str | None, stickers: Collection[str] = frozenset()) -> Finished:
    """The text that people see for `answer`; `stickers` are the names that the contract allows."""
    if answer is None:
        return Finished(None)
    notes: list[str] = []
    text, before = answer, None
    # Every change shortens the text, so this ends; it ends with a text that a further step would not change.
    while text != before:
        before = text
        text = _without_stickers(_unwrapped(_without_no_response(text)), stickers, notes)
    return Finished(None if is_blank(text) else text, tuple(notes))


def _without_no_response(text: str) -> str:
    stripped = _NO_RESPONSE.sub("", text)
    return text if stripped == text else stripped.strip()


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """`text` in pieces, and whether each is code."""
    position = 0
    for code in _CODE.finditer(text):
        yield text[position : code.start()], False
        yield code.group(), True
        position = code.end()
    yield text[position:], False


def _without_stickers(text: str, stickers: Collection[str], notes: list[str]) -> str:
    check = partial(_sticker, stickers, notes)
    kept = "".join(piece if is_code else _STICKER.sub(check, piece) for piece, is_code in _pieces(text))
    return text if kept == text else kept.strip()


def _sticker(stickers: Collection[str], notes: list[str], found: re.Match[str]) -> str:
    if found["name"] in stickers:
        return found.group()
    notes.append(f"sticker {clipped(found['name'], _NAME_SHOWN)!r} is not allowed and was removed")
    return ""


def _unwrapped(text: str) -> str:
    """`[label](url)` as `url` and `@[label](url)` as `label`, from the inside out, outside code."""
    out: list[str] = []
    open_at: list[int] = []  # where in `out` each bracket stands that may still begin a link
    for piece, is_code in _pieces(text):
        if is_code:
            if "\n" in piece:
                open_at.clear()
            out.append(piece)
            continue
        position = 0
        while position < len(piece):
            position = _next_token(piece, position, out, open_at)
    return "".join(out)


def _next_token(text: str, position: int, out: list[str], open_at: list[int]) -> int:
    """Move one token of prose from `text` to `out`; returns where the next one begins."""
    char = text[position]
    if char == "]" and open_at:
        start = open_at.pop()
        target = _target(text, position + 1)
        if target is not None:
            _replace_link(out, start, target[0])
            return target[1]
    if char == "[":
        open_at.append(len(out))
    elif _BLANK_LINE.match(text, position):
        open_at.clear()
    found = _TOKEN.search(text, position + (2 if char == "\\" else 1))
    end = found.start() if found else len(text)
    out.append(text[position:end])
    return end


def _replace_link(out: list[str], start: int, url: str) -> None:
    """Put what people are to see in the place of the link whose bracket stands at `out[start]`."""
    before = out[start - 1] if start else ""
    if before.endswith("@"):
        out[start - 1] = before[:-1]
        del out[start]
        return
    if before.endswith("!") and (len(before) == 1 or before[-2].isspace()):
        out[start - 1] = before[:-1]  # a picture
    out[start:] = [url]


def _target(text: str, position: int) -> tuple[str, int] | None:
    """The URL of a link whose label ends before `position`, and where the link ends; None when it is no link."""
    if not text.startswith("(", position):
        return None
    position += 1
    while text[position : position + 1].isspace():
        position += 1
    angle = _ANGLE.match(text, position)
    end = angle.end() if angle else _url_end(text, position)
    url = angle[1].strip() if angle else text[position:end]
    closing = _END.match(text, end)
    if not url or closing is None:
        return None
    return _ESCAPED.sub(r"\1", url), closing.end()


def _url_end(text: str, position: int) -> int:
    """Where a URL without blanks ends: at a blank or at the first parenthesis that it did not open."""
    depth = 0
    while position < len(text) and not text[position].isspace():
        char = text[position]
        if char == "\\":
            position += 1
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        if depth < 0 or depth > _PARENTHESES_DEEPEST:
            break
        position += 1
    return min(position, len(text))
