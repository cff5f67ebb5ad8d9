"""Where something was said: the full-text index over the table `message`, and looking things up in it (LOG-08).

Owns how a text is folded, the words of a query, and which rows may hold them. Does not know who may read which
channel. The index knows each three characters in a row; shorter words, and rows that it does not hold yet, are read.
It is filled in batches beside the turns, which therefore pay nothing for it.
Invariant: whatever a plain substring search of each word finds, in any case, is found.
"""

import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from phasewalk.machine.text import first_place, storable

GRAM = 3
"""So many characters in a row are one entry of the index."""

SAID = "m.role IN ('user', 'assistant')"
"""What people and the bot said; what tools returned is in the log too, but nobody said it."""

BATCH = 500
"""So many messages are taken into the index at once: some tens of milliseconds of the one writer."""

_UPTO = "SELECT upto_entry_id FROM message_indexed"
_NEXT = "SELECT max(entry_id) FROM (SELECT entry_id FROM message WHERE entry_id > ? ORDER BY entry_id LIMIT ?)"
_TAKE = (
    "INSERT INTO message_index (rowid, text) SELECT entry_id, searchable(text) FROM message"
    " WHERE entry_id > ? AND entry_id <= ? AND role <> 'tool'"
)
_ROWS = "message AS m"
_INDEXED = "message_index AS i CROSS JOIN message AS m ON m.entry_id = i.rowid"


def prepare(connection: sqlite3.Connection) -> None:
    """Teach a writing connection how texts are folded; the triggers that keep the index in step ask it."""
    connection.create_function("searchable", 1, searchable, deterministic=True)


def searchable(text: str) -> str:
    """`text` as it stands in the index: without regard to case; composed accents stand there both ways."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    composed = _composed(folded)
    return folded if composed == folded else f"{folded}\n{composed}"


def words_of(query: str) -> list[str]:
    """What a text must hold: the words of the query as they would have been stored, without regard to case."""
    return storable(query).casefold().split()


def holds(text: str, words: Sequence[str]) -> bool:
    """Whether `text` holds every word somewhere, also where an accent is written as a character of its own."""
    folded = text.casefold()
    return all(word in folded or (not folded.isascii() and _composed(word) in _composed(folded)) for word in words)


def waiting(log: sqlite3.Connection) -> int:
    """How many entries came after those that the index holds."""
    newest = log.execute("SELECT coalesce(max(entry_id), 0) FROM message").fetchone()[0]
    return max(int(newest) - (_upto(log) or 0), 0)


def take_in(connection: sqlite3.Connection, rows: int = BATCH) -> int:
    """Take the next messages into the index, inside the transaction that is open; how many entries wait still."""
    upto = _upto(connection) or 0
    last = connection.execute(_NEXT, (upto, rows)).fetchone()[0]
    if last is None:
        return 0
    connection.execute(_TAKE, (upto, last))
    connection.execute("UPDATE message_indexed SET upto_entry_id = ?", (last,))
    return waiting(connection)


def candidates(
    log: sqlite3.Connection,
    columns: str,
    words: Sequence[str],
    conditions: Sequence[str] = (),
    values: Mapping[str, object] | None = None,
) -> Iterator[tuple[object, ...]]:
    """The `columns` of each row of `m` that may hold all `words`, newest first.

    Every row that holds them is among them, and others too: ask `holds`. `conditions` are on `m` (message) and `t`
    (turn), `values` are bound to them. The caller holds one read transaction for as long as rows are taken.
    """
    match, upto = _match(words), _upto(log)
    given = {**(values or {}), "match": match, "upto": upto}
    if not match or upto is None:  # a file of the version before has no index
        yield from log.execute(_sql(columns, _ROWS, conditions, "m.entry_id"), given)
        return
    yield from log.execute(_sql(columns, _ROWS, ["m.entry_id > :upto", *conditions], "m.entry_id"), given)
    yield from log.execute(_sql(columns, _INDEXED, ["message_index MATCH :match", *conditions], "i.rowid"), given)


def _sql(columns: str, source: str, conditions: Sequence[str], order: str) -> str:
    where = " AND ".join([SAID, *conditions])
    return (
        f"SELECT {columns} FROM {source} LEFT JOIN turn AS t ON t.turn_id = m.turn_id"  # noqa: S608 - pieces of this program, values bound
        f" WHERE {where} ORDER BY {order} DESC"
    )


def _upto(log: sqlite3.Connection) -> int | None:
    """The last entry that the index holds; None where there is no index."""
    if log.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_indexed'").fetchone() is None:
        return None
    return int(log.execute(_UPTO).fetchone()[0])


def excerpt(text: str, words: Sequence[str], before: int, after: int) -> str:
    """The piece of `text` around the first place of a word, in one line, cuts marked by an ellipsis."""
    begin, end = first_place(text, words)
    start, stop = max(begin - before, 0), min(end + after, len(text))
    piece = " ".join(text[start:stop].split())
    return f"{'…' if text[:start].strip() else ''}{piece}{'…' if text[stop:].strip() else ''}"


def _match(words: Sequence[str]) -> str:
    """The expression for the index: every three characters of every long word; nothing for short words alone.

    A word may stand in a text as it is or composed; either will do.
    """
    parts = []
    for word in sorted(dict.fromkeys(words), key=len, reverse=True)[:_WORDS]:
        forms = [_grams(form) for form in dict.fromkeys((word, _composed(word)))]
        if all(forms):
            parts.append(" OR ".join(f"({form})" for form in forms))
    return " AND ".join(f"({part})" for part in parts)


def _grams(word: str) -> str:
    grams = dict.fromkeys(word[at : at + GRAM] for at in range(len(word) - GRAM + 1))
    return " AND ".join('"{}"'.format(gram.replace('"', '""')) for gram in list(grams)[:_GRAMS])


_WORDS, _GRAMS = 8, 32
"""So many words, and pieces of each, are asked for; the rest is looked for in the rows that have these."""


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)
