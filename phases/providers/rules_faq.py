"""A FAQ in Markdown, and the entry that answers a question best.

Owns the reading of `## Question` with its answer, and the comparison by significant words. Does not know who
asks. Invariant: the same question and file give the same entry; of equals the earlier one wins.
"""

import re
from collections.abc import Iterable

from attrs import frozen

_COVERED = 0.5
"""The least share of the question's words that the message must hold."""

_UNDERSTOOD = 0.5
"""More than this share of the message's words must be known to the entry: "the weather at the raid" is not."""

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"(#{1,2})\s+(.*?)\s*#*\s*$")
_WORD = re.compile(r"\w+(?:['\N{RIGHT SINGLE QUOTATION MARK}]\w+)?")

_INSIGNIFICANT = frozenset(
    _WORD.findall(
        """a about all am an and any anybody anyone are as at be been but by can could did do does for from get give got
    had has have he hello help her here hey hi him his how i i'd i'm if in is it it's its just know let like may me
    mean might my need no not of off ok okay on one or our out people please server she should so some somebody
    someone tell than thank thanks that the their them then there these they this those to up us want was we were
    what what's whats when when's where where's which who who's why will with would yes you your there's
        next now soon today tonight tomorrow week usually currently"""
    )
)


@frozen
class Entry:
    """A question with its answer and the words that tell it from others."""

    question: str
    answer: str
    asks: frozenset[str]
    says: frozenset[str]


def entries_in(markdown: str) -> tuple[Entry, ...]:
    """The questions of a Markdown text: `## ` headings with what stands below them up to the next heading.

    Headings of level 3 and deeper and fenced code belong to the answer; a question without an answer is left out.
    """
    found: list[tuple[str, list[str]]] = []
    open_section, fenced = False, False
    for line in markdown.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        if heading is not None:
            open_section = heading[1] == "##" and bool(heading[2])
            if open_section:
                found.append((heading[2], []))
        elif open_section:
            found[-1][1].append(line)
    texts = ((question, "\n".join(lines).strip()) for question, lines in found)
    return tuple(_entry(question, answer) for question, answer in texts if answer)


def best(entries: Iterable[Entry], message: str) -> Entry | None:
    """The entry whose question the message asks, or None when none is near enough."""
    words = significant(message)
    scored = [(_score(entry, words), entry) for entry in entries] if words else []
    score, entry = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return entry if score else None


def significant(text: str) -> frozenset[str]:
    """The words that carry the meaning, lower case, without endings of plural and tense."""
    words = (word.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for word in _WORD.findall(text.casefold()))
    return frozenset(_stem(word) for word in words if word not in _INSIGNIFICANT)


def _entry(question: str, answer: str) -> Entry:
    asks = significant(question)
    return Entry(question, answer, asks, asks | significant(answer))


def _score(entry: Entry, words: frozenset[str]) -> float:
    """How well both fit, up to 2; 0 where either share is too small."""
    shared = words & entry.asks
    if not shared:
        return 0.0
    covered = len(shared) / len(entry.asks)
    understood = len(words & entry.says) / len(words)
    return covered + understood if covered >= _COVERED and understood > _UNDERSTOOD else 0.0


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):  # noqa: PLR2004 - a shorter rest is no stem
            return word[: -len(ending)]
    return word
