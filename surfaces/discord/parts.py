"""Cuts a text into parts that Discord takes (DIS-04).

Owns where a text may be cut. Knows no Discord. Invariants: no part is blank or longer than the limit; without the
fences that were added the parts hold the whole text but for blanks at the cuts; no character is cut in two.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from attrs import frozen

LIMIT = 2_000
"""UTF-16 units that one message of Discord may have."""

AIM = 1_900
"""UTF-16 units that a part is filled to where more follows."""

LOOKED_BACK = 64
"""So many code points are looked back over for the beginning of a character."""

_CLOSED = "\n```"
_FENCE = re.compile(r"(?<!`)`{3,16}(?!`)")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+\-.#]{1,32}(?=\n)")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_LINE = re.compile(r"\n")
_BLANK = re.compile(r"\s")
_BLANKS = re.compile(r"\s*")

_JOINER = "\u200d"


@frozen
class _Block:
    """A code block: from `start` to `end` with its fences, of which the code is what lies within `first..last`.

    The last block of a text may be without a closing fence.
    """

    start: int
    first: int
    last: int
    end: int
    language: str

    @property
    def opening(self) -> str:
        return f"```{self.language}\n"


def cut(text: str, *, limit: int = LIMIT, aim: int = AIM) -> list[str]:
    """The parts of `text`, cut at paragraphs, else lines, else blanks; one within `limit` stays as it is.

    Lengths are in UTF-16 units, from 100 up. Time is linear in the text. A text of blanks alone has no parts.
    """
    if _fits(text, 0, limit):
        return [text] if text.strip() else []
    return list(_parts(text, limit, aim))


def _parts(text: str, limit: int, aim: int) -> Iterator[str]:
    blocks = _blocks(text)
    at, block = 0, None
    while at < len(text):
        opening = block.opening if block is not None else ""
        if _fits(text, at, limit - len(opening) - len(_CLOSED)):
            end = len(text)
            block = blocks[-1] if blocks and blocks[-1].last == end else None
        else:
            reach = _reach(text, at, aim - len(opening) - len(_CLOSED))
            end, block = _end(text, at, reach, blocks)
        body = text[at:end]
        if body.strip():
            yield opening + (body.rstrip() if block is None else body.rstrip("\n") + _CLOSED)
        at, block = _next(text, end, block)


def _blocks(text: str) -> list[_Block]:
    """The code blocks of a text, in order."""
    found: list[_Block] = []
    fences = _FENCE.finditer(text)
    for opens in fences:
        language = _LANGUAGE.match(text, opens.end())
        closes = next(fences, None)
        found.append(
            _Block(
                start=opens.start(),
                first=language.end() if language else opens.end(),
                last=closes.start() if closes else len(text),
                end=closes.end() if closes else len(text),
                language=language.group() if language else "",
            )
        )
    return found


def _around(blocks: Sequence[_Block], place: int) -> _Block | None:
    """The block that would be cut in two at `place`."""
    number = bisect_left(blocks, place, key=attrgetter("start")) - 1
    return blocks[number] if number >= 0 and place < blocks[number].end else None


def _end(text: str, at: int, reach: int, blocks: Sequence[_Block]) -> tuple[int, _Block | None]:
    """Where the part from `at` ends, at `reach` at the latest, and the block that is cut there.

    A place in the second half is better than a finer one, and any place better than one within a word.
    """
    half = (at + reach) // 2
    for least, kind in ((half, _PARAGRAPH), (half, _LINE), (half, _BLANK), (at, _LINE), (at, _BLANK)):
        for place in reversed([one.start() for one in kind.finditer(text, least, reach + 1)]):
            end, block = _moved(place, blocks)
            if text[at:end].strip() and not (kind is _PARAGRAPH and block is not None):
                return end, block
    end, block = _moved(_between_characters(text, at, reach), blocks)
    return (end, block) if end > at else (reach, block)


def _moved(place: int, blocks: Sequence[_Block]) -> tuple[int, _Block | None]:
    """The place itself, or the edge of the fence that it is in, and the block that is cut there."""
    block = _around(blocks, place)
    if block is None:
        return place, None
    if place <= block.first:
        return block.start, None
    return min(place, block.last), block


def _next(text: str, end: int, block: _Block | None) -> tuple[int, _Block | None]:
    """Where the part after a cut begins, and the block in which it does."""
    if block is None:
        return _past_blanks(text, end), None
    if _past_blanks(text, end) >= block.last:
        return _past_blanks(text, block.end), None
    return end + text.startswith("\n", end), block


def _past_blanks(text: str, place: int) -> int:
    found = _BLANKS.match(text, place)
    return found.end() if found else place


def _fits(text: str, at: int, limit: int) -> bool:
    return len(text) - at <= limit and _reach(text, at, limit) == len(text)


def _reach(text: str, at: int, room: int) -> int:
    """Where the longest piece from `at` ends that has at most `room` units."""
    end = min(at + room, len(text))
    over = len(text[at:end].encode("utf-16-le", "surrogatepass")) // 2 - room
    while over > 0:
        end -= 1
        over -= 2 if ord(text[end]) > 0xFFFF else 1  # noqa: PLR2004 - the last code point that takes one unit
    return end


def _between_characters(text: str, at: int, reach: int) -> int:
    """The last place up to `reach` that is between two characters as a reader sees them."""
    for place in range(reach, max(at, reach - LOOKED_BACK), -1):
        if not _inside_character(text, place):
            return place
    return reach


def _inside_character(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    if _JOINER in (after, before) or unicodedata.category(after).startswith("M"):
        return True
    if before + after in ("\r\n", "``") or _is_tail(after):
        return True
    return _is_regional(before) and _is_regional(after) and _regionals_before(text, place) % 2 == 1


def _is_tail(character: str) -> bool:
    """Whether it colours the emoji before it, or belongs to the tags of a flag."""
    return "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f"


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _regionals_before(text: str, place: int) -> int:
    first = place
    while first > 0 and place - first < LOOKED_BACK and _is_regional(text[first - 1]):
        first -= 1
    return place - first
