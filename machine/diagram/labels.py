"""How a name of any characters stands in a picture, and how it is read back.

Owns one encoding: whatever could mean something to a format, white space included, becomes a numbered entity
(`&#58;`, in Mermaid `#58;`), which the renderers of these formats show as the character itself.
Invariant: an encoded name is one word without brackets, quotes or separators, and `decoded` undoes `encoded`.
"""

import re
from collections.abc import Iterable

ENTITY = "&#"
"""How an entity starts in HTML, Markdown and DOT."""

# An underscore at either end would make Markdown set the name in italics; inside a word it is harmless.
_SPECIAL = re.compile(r"\A_+|_+\Z|[^\w.-]")
_BRACKETS = re.compile(r"\([^()]*\)")
_LAST_CODE_POINT = 0x10FFFF


def encoded(name: str, entity: str = ENTITY) -> str:
    """The name as one harmless word."""
    return _SPECIAL.sub(lambda found: "".join(f"{entity}{ord(char)};" for char in found[0]), name)


def decoded(word: str, entity: str = ENTITY) -> str:
    """The name that was encoded; what is no entity stays as it is."""
    return re.sub(rf"{re.escape(entity)}(\d{{1,7}});", _character, word, flags=re.ASCII)


def listed(names: Iterable[str], entity: str = ENTITY) -> str:
    """Names with commas between them."""
    return ", ".join(encoded(name, entity) for name in names)


def words_in(label: str, entity: str = ENTITY) -> list[str]:
    """The names in a label, without the marks of an overlay, which are all that stands in brackets."""
    return [decoded(word, entity) for word in _BRACKETS.sub(" ", label).split()]


def _character(found: re.Match[str]) -> str:
    code = int(found[1])
    return chr(code) if code <= _LAST_CODE_POINT else found[0]
