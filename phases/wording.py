"""Takes a message apart: what its author says himself, in sentences, and those in parts with one request each.

Owns the cutting, by the vocabulary's marks and words. Does not know what a part asks for. Invariant: what is
quoted, pasted or labelled as somebody else's text is in no part (CON-05).
"""

import re
from collections.abc import Iterator, Sequence

from attrs import frozen

from phasewalk.phases.vocabulary import Hit, Vocabulary, tokens_of

_NOT_SAID = re.compile(
    r"```.*?(?:```|\Z)"  # code blocks, also unclosed ones
    r"|`[^`\n]*`"
    r"|^[ \t]*>>>.*\Z"  # a quote to the end of the message
    r"|^[ \t]*>[^\n]*"
    r'|"[^"\n]*"|\u201c[^\u201c\u201d]*\u201d|\u00ab[^\u00ab\u00bb]*\u00bb|\u201e[^\u201c-\u201e]*[\u201c\u201d]'
    r"|(?<!\w)'(?=\S)[^'\n]{1,200}(?<=\S)'(?!\w)"
    r"|https?://\S+"
    r"|<[@#:a-z!&][^<>\n]*>"  # mentions, channels, emoji as the chat writes them
    r"|(?<![\w@])@[\w.-]+",
    re.DOTALL | re.MULTILINE,
)
MARKS = (",", ":", "?", "&")
LINK = "weblink"
"""What an address of the web is read as."""

_AHEAD = 7
"""How many entries after "and" are looked at for a verb; what stands farther off begins no request."""

OPENERS = ("actions", "looking", "verb", "phrase", "pair_verb", "requests", "wishes")
"""Entries that begin a request of its own after "and" or a comma."""


@frozen
class Part:
    """A piece of a sentence that asks for one thing at most: its tokens, and the entries found in them.

    `reset` says that a word like "but" stands before it, so that an earlier "not" covers it no more.
    """

    tokens: tuple[str, ...]
    hits: tuple[Hit, ...]
    question: bool
    reset: bool

    @property
    def words(self) -> int:
        """How many words it has."""
        return sum(token not in MARKS for token in self.tokens)


def sentences(text: str, vocabulary: Vocabulary) -> Iterator[tuple[Part, ...]]:
    """The sentences that the author says himself, each in its parts."""
    said = _NOT_SAID.sub(lambda found: f" {LINK} " if found[0].startswith("http") else " ", text)
    for line_tokens, question in _sentence_tokens(said, vocabulary.words["labels"], vocabulary.words["rewrites"]):
        yield tuple(_parts(line_tokens, question=question, vocabulary=vocabulary))


def _sentence_tokens(said: str, labels: frozenset[str], rewrites: frozenset[str]) -> Iterator[tuple[list[str], bool]]:
    """Each sentence's tokens and whether it ends with a question mark; nothing after a label."""
    sentence: list[str] = []
    for token in tokens_of(said):
        if token == ":" and sentence and (_labels(sentence, labels) or not rewrites.isdisjoint(sentence)):
            yield sentence, False
            return
        question = token in ("?", "\N{FULLWIDTH QUESTION MARK}")
        if question or not (token[0].isalnum() or token[0] == "_" or token in MARKS):
            if sentence:
                yield sentence, question
            sentence = []
        else:
            sentence.append(token)
    if sentence:
        yield sentence, False


def _labels(sentence: Sequence[str], labels: frozenset[str]) -> bool:
    """Whether the sentence ends with a label, and not with what is to be made: "email: ..." begins an email."""
    return sentence[-1] in labels and (len(sentence) > 1 or sentence[0] in ("this", "following"))


def _parts(tokens: list[str], *, question: bool, vocabulary: Vocabulary) -> Iterator[Part]:
    hits = list(_scan(tokens, vocabulary))
    begin, first, reset = 0, 0, False
    for number, hit in enumerate(hits):
        turns = hit.start > begin and _turns(tokens, hit)
        interjected = hit.start > begin and hit.has("interjections")
        if not (turns or interjected or (number > first and _begins_request(tokens, hits, number, vocabulary))):
            continue
        yield Part(tuple(tokens[begin : hit.start]), _moved(hits[first:number], begin), question, reset)
        begin, first, reset = hit.start, number, turns or interjected
    yield Part(tuple(tokens[begin:]), _moved(hits[first:], begin), question, reset)


def _turns(tokens: Sequence[str], hit: Hit) -> bool:
    return hit.has("turns") or (hit.has("soft_turns") and tokens[hit.start - 1] == ",")


def _begins_request(tokens: Sequence[str], hits: Sequence[Hit], number: int, vocabulary: Vocabulary) -> bool:
    """Whether this entry is a joining word with a verb behind it, fillers between them allowed."""
    joins, fillers = vocabulary.words["joins"], vocabulary.words["fillers"]
    place = hits[number].start
    if tokens[place] not in joins:
        return False
    for hit in hits[number + 1 : number + _AHEAD]:
        between = tokens[place + 1 : hit.start]
        if not all(token in fillers or token in joins for token in between):
            return False
        if hit.has(*OPENERS):
            return True
        if not hit.has("fillers", "joins"):
            return False
    return False


def _scan(tokens: Sequence[str], vocabulary: Vocabulary) -> Iterator[Hit]:
    place = 0
    while place < len(tokens):
        hit = vocabulary.hit_at(tokens, place)
        if hit is not None:
            yield hit
        place = hit.end if hit is not None else place + 1


def with_tokens(part: Part, tokens: Sequence[str], vocabulary: Vocabulary) -> Part:
    """The part as it would be with these tokens."""
    return Part(tuple(tokens), tuple(_scan(tokens, vocabulary)), part.question, part.reset)


def _moved(hits: Sequence[Hit], by: int) -> tuple[Hit, ...]:
    return tuple(Hit(hit.start - by, hit.end - by, hit.words, hit.roles) for hit in hits)
