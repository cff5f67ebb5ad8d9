"""The one finishing step that makes the visible text of an answer (ENV-08, ENV-25, ENV-37).

Owns the stripping of `[no_response]`, the unwrapping of links and the check of stickers. Pure; knows no surface
and no turn. Invariant: finishing a finished text changes nothing, because the step runs until nothing changes.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator

from attrs import define, field, frozen

from phasewalk.machine.text import named

_NO_RESPONSE = re.compile(r"\[[ \t]{0,8}no_response[ \t]{0,8}\]", re.IGNORECASE)
_NO_RESPONSE_LONGEST = 32
_STICKER = re.compile(r"\[sticker:([^\[\]\n]*)\]", re.IGNORECASE)
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
_SPACE = re.compile(r"\s*")
_END = re.compile(r"""(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)""")
_ESCAPED = re.compile(r"\\([()\[\]<>])")
_PARENTHESES_DEEPEST = 32
"""Parentheses nest this deep in a URL at most, as in CommonMark: it bounds the work on a hostile text."""

_STEPS_MOST = 40
"""A sane text is finished after two steps; this bounds the work on one that hides links in links."""

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
    text, notes = answer, list[str]()
    for _ in range(_STEPS_MOST):
        before = text
        text = _Prose(stickers, notes).read(_without_no_response(text))
        if text == before:
            break
    return Finished(None if is_blank(text) else text, tuple(notes))


def _without_no_response(text: str) -> str:
    """`text` without the marker and the blanks before it, also where a marker stands within another one."""
    if not _NO_RESPONSE.search(text):
        return text
    out: list[str] = []
    for char in text:
        out.append(char)
        if char != "]":
            continue
        tail = "".join(out[-_NO_RESPONSE_LONGEST:])
        start = tail.rfind("[")
        if start >= 0 and _NO_RESPONSE.fullmatch(tail, start):
            del out[start - len(tail) :]
            while out and out[-1] in " \t":
                out.pop()
    return "".join(out).strip()


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """`text` in pieces, and whether each is code."""
    position = 0
    for code in _CODE.finditer(text):
        yield text[position : code.start()], False
        yield code.group(), True
        position = code.end()
    yield text[position:], False


@define
class _Prose:
    """One walk over a text, from the inside of brackets out: each closed bracket is looked at once.

    `out` holds what was read so far; `open_at` says where in it each bracket stands that is still open.
    """

    stickers: Collection[str]
    notes: list[str]
    out: list[str] = field(factory=list)
    open_at: list[int] = field(factory=list)
    removed: bool = False

    def read(self, text: str) -> str:
        """`text` with links unwrapped and unknown stickers removed, outside code."""
        for piece, is_code in _pieces(text):
            if is_code:
                self._code(piece)
                continue
            position = 0
            while position < len(piece):
                position = self._token(piece, position)
        made = "".join(self.out)
        return made.strip() if self.removed else made

    def _code(self, piece: str) -> None:
        if "\n" in piece:
            self.open_at.clear()
        self.out.append(piece)

    def _token(self, text: str, position: int) -> int:
        """Read one token of prose; returns where the next one begins."""
        char = text[position]
        if char == "]" and self.open_at:
            end = self._closed(text, position + 1, self.open_at.pop())
            if end is not None:
                return end
        if char == "[":
            self.open_at.append(len(self.out))
        elif _BLANK_LINE.match(text, position):
            self.open_at.clear()
        found = _TOKEN.search(text, position + (2 if char == "\\" else 1))
        end = found.start() if found else len(text)
        self.out.append(text[position:end])
        return end

    def _closed(self, text: str, position: int, start: int) -> int | None:
        """Replace the bracket opened at `out[start]`; returns where what it opened ends, or None."""
        target = _target(text, position)
        if target is not None:
            self._link(start, target[0])
            return target[1]
        if self.out[start][:9].lower() == "[sticker:":
            found = _STICKER.fullmatch("".join(self.out[start:]) + "]")
            if found and found[1].strip() not in self.stickers:
                self._sticker(start, found[1].strip())
                return position
        return None

    def _link(self, start: int, url: str) -> None:
        """Put what people are to see in the place of the link."""
        before = self.out[start - 1] if start else ""
        if before.endswith("@"):
            self.out[start - 1] = before[:-1]
            self.out[start] = self.out[start][1:]
            return
        if before.endswith("!") and (len(before) == 1 or before[-2].isspace()):
            self.out[start - 1] = before[:-1]  # a picture
        self.out[start:] = [url]

    def _sticker(self, start: int, name: str) -> None:
        """Take an unknown sticker away, with the blanks before it."""
        del self.out[start:]
        if self.out:
            self.out[-1] = self.out[-1].rstrip(" \t")
        self.removed = True
        self.notes.append(f"sticker {named(name)} is not allowed and was removed")


def _target(text: str, position: int) -> tuple[str, int] | None:
    """The URL of a link whose label ends before `position`, and where the link ends; None when it is no link."""
    if not text.startswith("(", position):
        return None
    skipped = _SPACE.match(text, position + 1)
    position = skipped.end() if skipped else position + 1
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
