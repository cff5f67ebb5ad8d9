"""Reads small typos as the words of a family that they are near to (CON-05).

Owns the measure: a letter left out, put in, replaced, or two exchanged, once in up to six letters and twice in
longer words. Does not decide where that may be done. Invariants: a word that means something itself is no typo; the
first letter is right unless it was exchanged with the second, and where there are two slips so is the second.
"""

from collections.abc import Sequence

from phasewalk.phases.vocabulary import Vocabulary

SHORTEST = 4
"""Letters; in a shorter word every typo is another word."""

LOOKED_AT = 60
"""Unknown words of one part of a message that are looked at; a longer list of them is no request."""

ONCE = 6
"""Up to so many letters one slip is looked for, in longer words two."""


def corrected(tokens: Sequence[str], opening: int, vocabulary: Vocabulary) -> tuple[list[str], str]:
    """The tokens with typos corrected, and what was read as what; an empty text where nothing was.

    The word at `opening` may be a slip of a verb that begins a request, too.
    """
    better: list[str] = []
    read_as: list[str] = []
    left = LOOKED_AT
    for place, token in enumerate(tokens):
        unknown = left > 0 and len(token) >= SHORTEST and token not in vocabulary.known and token.isalpha()
        left -= unknown
        meant = _meant(token, vocabulary, opens=place == opening) if unknown else ""
        better.append(meant or token)
        if meant:
            read_as.append(f"{token} read as {meant}")
    return better, ", ".join(read_as)


def _meant(token: str, vocabulary: Vocabulary, *, opens: bool) -> str:
    """The word of a family, or a verb that `opens` a request, that `token` is a slip of; the nearest one."""
    lists = (vocabulary.spelt, vocabulary.deeds) if opens else (vocabulary.spelt,)
    words = (word for words in lists for letter in {*token[:2]} for word in words.get(letter, ()))
    near = [(slips, word) for word in words if (slips := _slips(token, word)) is not None]
    return min((slips, abs(len(token) - len(word)), word) for slips, word in near)[-1] if near else ""


def _slips(token: str, word: str) -> int | None:
    """How many slips make `word` into `token`; None when too many, or when `token` is a form of the word."""
    most = 1 if len(word) <= ONCE else 2
    if abs(len(token) - len(word)) > most or token.startswith(word):
        return None
    if token[0] != word[0] and token[:2] != word[1::-1]:
        return None
    slips = _distance(token, word)
    return slips if slips <= (most if token[1] == word[1] else 1) else None


def _distance(one: str, other: str) -> int:
    """The edit distance in which two letters exchanged are one slip."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row, last = row, [i, *([0] * len(other))], before
        for j, wanted in enumerate(other, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]
