"""Forgetting: a person or a turn is erased from the file, and the file is searched for what is left (LOG-11).

Owns what belongs to a person, and the proof. What others said stays, but for pieces that hold an erased text or the
person's id; those are taken out. Knows no way of printing. Invariant: what the proof says was looked for in every
byte of the file and of its WAL.
"""

import json
import mmap
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from phasewalk.machine.documents import digest_of
from phasewalk.machine.errors import StorageError
from phasewalk.storage.backup import InUseError, live_processes, told
from phasewalk.storage.compression import packed, unpacked
from phasewalk.storage.database import open_for_reading, open_for_writing
from phasewalk.storage.operators import PATIENCE_MS, Action, change
from phasewalk.storage.references import parts, references
from phasewalk.storage.retention import (
    BATCH,
    delete_messages,
    delete_turns,
    drop_contracts,
    fill_index,
    ids,
    in_turn,
    remembered,
    used_since,
    with_descendants,
)

ERASED = "[erased]"

TELLING = 24
"""A text of at least so many characters is looked for in what others left; shorter ones many people say."""

STEP = 8
"""A quotation is found when it has `TELLING + STEP - 1` characters of a text, wherever it was cut."""

ID_CHARS = 15
"""An id of at least so many characters is looked for everywhere; a shorter one is part of other numbers."""

PIECE = 32
"""Bytes of one piece that the proof looks for: a text may lie in several pages, its pieces lie in one."""

PIECES = 1000
"""So many pieces are looked for at most, taken from the texts in turn."""

_MESSAGES = "turn_id IN (SELECT value FROM json_each(:turns)) OR author_id = :user"
REWRITE_MS = 15_000
"""How long those who read the log are waited for when the file is written anew."""

REWRITTEN_LIVE = 200 * 1024 * 1024
"""Bytes; a larger file is not written anew beside a process that writes, which would wait for too long."""

AGAIN = 3
"""So often a table is looked at whose rows somebody changes meanwhile."""

ROWS = 200
"""Rows of others that are changed in one transaction."""

_SAID = f"SELECT text, role = 'user' FROM message WHERE {_MESSAGES}"  # noqa: S608 - pieces of this file, values bound
_SPOKEN = f"SELECT channel_id, min(entry_id) FROM message WHERE {_MESSAGES} GROUP BY 1"  # noqa: S608 - as above
_QUESTIONS = "SELECT text_digest FROM turn WHERE turn_id IN (SELECT value FROM json_each(:turns)) AND :user IS :user"
_OWN = ("note", "fact", "task", "job")
_COLUMNS = {
    "phase_event": ("event_id", ("guards", "detail")),
    "effect_event": ("effect_event_id", ("detail",)),
    "message": ("entry_id", ("author_id", "author", "text", "call")),
    "summary": ("summary_id", ("text",)),
    "note": ("number", ("text",)),
    "fact": ("number", ("text",)),
    "task": ("number", ("text",)),
    "job": ("job_id", ("text", "user_name", "created_by")),
    "operator_action": ("action_id", ("who", "target", "before", "after")),
    "log_loss": ("loss_id", ("what",)),
    "prune_log": ("prune_id", ("detail",)),
    "attempt": ("turn_id || ' ' || n", ("message", "request_id")),
    "approval": ("approval_id", ("arguments", "approved_by")),
    "effect": ("effect_id", ("target",)),
    "configuration": ("hash", ("body",)),
}
"""Where a text of one person may stand in the rows of others, with what names a row."""


class Erasure(NamedTuple):
    """What is to be erased. `texts` are the own words of the person or in the turn; `blobs` are texts as packed."""

    user: str
    turns: list[str]
    payloads: list[str]
    messages: int
    spoken: list[tuple[str, int]]
    kept: dict[str, int]
    texts: list[str]
    blobs: list[bytes]

    @property
    def nothing(self) -> bool:
        """Whether the log holds nothing of this person or turn."""
        return not (self.turns or self.messages or any(self.kept.values()))


class Proof(NamedTuple):
    """What the search of the bytes found: of `pieces` pieces `left` stand there still, in these `places`.

    `shared` pieces stand in what others said themselves. `emptied` is whether the WAL could be emptied, `beside` are
    other files that may be copies.
    """

    pieces: int
    left: int
    shared: int
    places: list[str]
    emptied: bool
    beside: list[Path]


def erasure(log: sqlite3.Connection, user: str, turn: str) -> Erasure:
    """What belongs to the person with the id `user`, or to the turn `turn`; the other of the two is empty."""
    log.execute("BEGIN")
    try:
        turns = with_descendants(log, ids(log, "user_id = ?", user) if user else [turn])
        own = {"turns": json.dumps(turns), "user": user or None}
        said = log.execute(_SAID, own).fetchall()
        spoken = log.execute(_SPOKEN, own).fetchall()
        asked = {str(d) for (d,) in log.execute(_QUESTIONS, own) if d is not None}
        payloads = references(log, turns) - references(log, set(ids(log, "1")) - set(turns))
        bodies = [
            row
            for some in parts(sorted(payloads), 500)
            for row in log.execute(
                "SELECT digest, encoding, body FROM payload WHERE digest IN (SELECT value FROM json_each(?))",
                (json.dumps(some),),
            )
        ]
        kept = {table: _texts(log, table, user) for table in _OWN}
    finally:
        log.execute("COMMIT")
    texts = [str(text) for text, own_words in said if own_words] + [text for found in kept.values() for text in found]
    texts += [unpacked(encoding, body) for digest, encoding, body in bodies if body is not None and digest in asked]
    return Erasure(
        user=user,
        turns=turns,
        payloads=[str(digest) for digest, _, _ in bodies],
        messages=len(said),
        spoken=[(str(channel), int(first)) for channel, first in spoken],
        kept={table: len(found) for table, found in kept.items()},
        texts=sorted({text for text in texts if len(text) >= TELLING}),
        blobs=sorted({body for _, _, body in bodies if body is not None and len(body) >= PIECE}),
    )


def _texts(log: sqlite3.Connection, table: str, user: str) -> list[str]:
    found = log.execute(f"SELECT text FROM {table} WHERE user_id = ?", (user,))  # noqa: S608 - tables of this file
    return [str(text) for (text,) in found]


def planned(path: Path, user: str, turn: str) -> Erasure:
    """The plan alone, from a log that is not touched."""
    with closing(open_for_reading(path)) as log:
        return erasure(log, user, turn)


def forget(path: Path, user: str, turn: str, who: str, beside: int | None = None) -> tuple[Erasure, Proof | None]:
    """Erase, and search the file; the proof is None where there was nothing to erase.

    `beside` is the number of a process that runs and takes care: for as long as this takes, it stores every text with
    each reference to it (`SqlitePhaseLog.storing_anew`), and so remembers none.

    Raises `InUseError` when a running process stands in the way, `StorageError` as `open_for_writing` does, and
    `sqlite3.Error` when the file stays locked.
    """
    with closing(open_for_writing(path)) as log:
        log.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
        began_us = time.time_ns() // 1000
        made = erasure(log, user, turn)
        if made.nothing:
            return made, None
        _nobody_uses(log, made, beside)
        note = change(path, lambda connection, now_us: _noted(connection, now_us, made, who))
        if note is None:
            raise StorageError(f"{path}: the erasure could not be written down")
        log.execute("PRAGMA secure_delete = ON")
        for some in parts(made.turns, BATCH):
            in_turn(log, lambda some=some: delete_turns(log, some))  # type: ignore[misc]  # bound at once
        words = _taken_out(log, made, began_us)
        drop_contracts(log)
        fill_index(log)
        emptied = _rewritten(log, whole=beside is None or path.stat().st_size <= REWRITTEN_LIVE)
        return made, _proof(log, path, _pieces(made, words), made.user, emptied=emptied)


def _nobody_uses(log: sqlite3.Connection, made: Erasure, beside: int | None) -> None:
    """A turn that runs would write on, and a text that a process remembers would not be stored again."""
    running = ids(log, "ended_us IS NULL AND turn_id IN (SELECT value FROM json_each(?))", json.dumps(made.turns))
    live = {process.process_id: process for process in live_processes(log)}
    for name in running:
        number = log.execute("SELECT process_id FROM turn WHERE turn_id = ?", (name,)).fetchone()[0]
        if number in live:
            raise InUseError(f"turn {name} runs still in {told(live[number])}; wait until it has ended")
    held = remembered(log)
    in_use = [held[digest] for digest in made.payloads if digest in held and held[digest].process_id != beside]
    if in_use:
        raise InUseError(f"{told(in_use[0])} may still refer to {len(in_use)} of these texts; restart it first")


def _noted(log: sqlite3.Connection, now_us: int, made: Erasure, who: str) -> Action:
    """The rows that tell of the erasure; a person is named by a digest, which only tells whether it was this id."""
    what = "a person" if made.user else "a turn"
    counts = {"turns": len(made.turns), "messages": made.messages, "texts": len(made.payloads), **made.kept}
    log.execute(
        "INSERT INTO prune_log (at_us, what, before_us, rows, detail) VALUES (?, ?, NULL, ?, ?)",
        (now_us, what, len(made.turns), json.dumps(counts)),
    )
    return Action(who, f"forget {what}", digest_of(made.user) if made.user else made.turns[0], counts, None)


def _taken_out(log: sqlite3.Connection, made: Erasure, began_us: int) -> list[str]:
    """Delete what stands outside of turns, and take the words out of the rows of others; which words those were.

    A text that somebody has used since `began_us`, when the plan was made, stays.
    """
    words: list[str] = []

    def work() -> int:
        own: dict[str, object] = {"turns": "[]", "user": made.user or None}
        for channel, first in made.spoken:
            log.execute("DELETE FROM summary WHERE channel_id = ? AND upto_entry_id >= ?", (channel, first))
        delete_messages(log, _MESSAGES, own)
        for table in _OWN if made.user else ():
            log.execute(f"DELETE FROM {table} WHERE user_id = ?", (made.user,))  # noqa: S608 - tables of this file
        gone = set(made.payloads) - used_since(log, began_us)
        log.executemany("DELETE FROM payload WHERE digest = ?", [(digest,) for digest in sorted(gone)])
        log.executemany("DELETE FROM payload_left WHERE digest = ?", [(digest,) for digest in made.payloads])
        words.extend(_of_nobody_else(log, made.texts))
        return 0

    in_turn(log, work)
    _replace(log, _Finder(words, made.user if len(made.user) >= ID_CHARS else ""))
    return words


def _of_nobody_else(log: sqlite3.Connection, texts: list[str]) -> list[str]:
    """The texts that nobody else said word for word: what many people post is nobody's own."""
    said = {str(text) for (text,) in log.execute("SELECT text FROM message WHERE length(text) >= ?", (TELLING,))}
    known = "SELECT 1 FROM payload WHERE digest = ? AND body IS NOT NULL"
    return [t for t in texts if t not in said and log.execute(known, (digest_of(t),)).fetchone() is None]


def _replace(log: sqlite3.Connection, find: "_Finder") -> None:
    """Take the words out row by row, in short transactions; what somebody changes meanwhile is looked at again."""
    for table, (key, columns) in _COLUMNS.items():
        query = f"SELECT {key}, {', '.join(columns)} FROM {table}"  # noqa: S608 - tables of this file
        marks = ", ".join(f"{column} = ?" for column in columns)
        same = " AND ".join(f"{column} IS ?" for column in columns)
        update = f"UPDATE {table} SET {marks} WHERE {key} = ? AND {same}"  # noqa: S608 - as above
        for _ in range(AGAIN):
            found = []
            for name, *values in log.execute(query).fetchall():
                clean = [find.without(value) if isinstance(value, str) else value for value in values]
                if clean != values:
                    found.append((*clean, name, *values))
            if _changed(log, update, found) == len(found):
                break
    texts = []
    for digest, encoding, body in log.execute("SELECT digest, encoding, body FROM payload WHERE body IS NOT NULL"):
        text = unpacked(encoding, body)
        clean_text = find.without(text)
        if clean_text != text:
            texts.append((*packed(clean_text.encode()), digest))
    _changed(log, "UPDATE payload SET encoding = ?, body = ? WHERE digest = ?", texts)


def _changed(log: sqlite3.Connection, update: str, rows: Sequence[tuple[object, ...]]) -> int:
    """Change rows, some at a time, so that whoever else writes waits for milliseconds; how many were changed."""
    done = 0
    for start in range(0, len(rows), ROWS):
        some = rows[start : start + ROWS]
        done += in_turn(log, lambda some=some: log.executemany(update, some).rowcount)  # type: ignore[misc]  # bound at once
    return done


class _Finder:
    """Finds pieces of many texts at once: each place of a text is asked whether a block of one of them begins there.

    A block is found wherever it stands, and then as much before and after it as is alike; so a cut quotation is
    found too.
    """

    def __init__(self, texts: list[str], user: str) -> None:
        self._user = user
        self._blocks: dict[str, tuple[str, int]] = {}
        for text in texts:
            for form in _forms(text):
                for at in range(0, len(form) - TELLING + 1, STEP):
                    self._blocks.setdefault(form[at : at + TELLING], (form, at))

    def without(self, text: str) -> str:
        """`text` with each erased piece and the id replaced."""
        if self._user and self._user in text:
            text = text.replace(self._user, ERASED)
        at, kept, begin = 0, "", 0
        while self._blocks and at <= len(text) - TELLING:
            found = self._blocks.get(text[at : at + TELLING])
            if found is None:
                at += 1
                continue
            form, place = found
            while at > begin and place > 0 and text[at - 1] == form[place - 1]:
                at, place = at - 1, place - 1
            kept += text[begin:at] + ERASED
            while at < len(text) and place < len(form) and text[at] == form[place]:
                at, place = at + 1, place + 1
            begin = at
        return kept + text[begin:]


def _forms(text: str) -> set[str]:
    """A text as it is, and as it stands within JSON, and within JSON in JSON."""
    once = json.dumps(text, ensure_ascii=False)[1:-1]
    return {text, once, json.dumps(once, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]}


def _rewritten(log: sqlite3.Connection, *, whole: bool) -> bool:
    """Write the file anew, without free pages and remains of the index; whether that was done and the WAL emptied.

    Where it is not to be done as a `whole`, only the WAL is emptied.
    """
    log.execute(f"PRAGMA busy_timeout = {REWRITE_MS}")
    try:
        if whole:
            log.execute("INSERT INTO message_index (message_index) VALUES ('optimize')")
            log.execute("VACUUM")
        busy, _, _ = log.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    return whole and not busy


def _proof(log: sqlite3.Connection, path: Path, pieces: list[bytes], user: str, *, emptied: bool) -> Proof:
    """Look for pieces of what was erased in every byte of the file and its WAL."""
    found: list[bytes] = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        if file.exists() and file.stat().st_size:
            with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                found += [piece for piece in pieces if content.find(piece) >= 0]
    places = {piece: _places(log, piece) for piece in found}
    shared = [piece for piece, where in places.items() if where and piece != user.encode()]
    left = places.keys() - set(shared)
    return Proof(
        pieces=len(pieces),
        left=len(left),
        shared=len(shared),
        places=sorted({place for piece in left for place in places[piece]}),
        emptied=emptied,
        beside=sorted(p for p in path.parent.iterdir() if p.name.startswith(f"{path.name}.") and p.is_file()),
    )


def _places(log: sqlite3.Connection, piece: bytes) -> list[str]:
    """The columns in which a piece stands."""
    columns = log.execute(
        "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c"
        " WHERE m.type = 'table' AND m.name NOT LIKE 'message_index%'"
    ).fetchall()
    look = 'SELECT 1 FROM "{}" WHERE instr(CAST("{}" AS BLOB), ?) LIMIT 1'
    return [f"{table}.{name}" for table, name in columns if log.execute(look.format(table, name), (piece,)).fetchone()]


def _pieces(made: Erasure, words: list[str]) -> list[bytes]:
    """The id, then pieces of each text, and of each as it was packed, in turn until there are enough."""
    found = dict.fromkeys([made.user.encode()] if len(made.user) >= ID_CHARS else [])
    rest = [_cut(whole) for whole in [*(text.encode() for text in words), *made.blobs]]
    for row in zip_longest(*rest):
        found.update((piece, None) for piece in row if piece is not None)
        if len(found) >= PIECES:
            break
    return list(found)[:PIECES]


def _cut(whole: bytes) -> Iterator[bytes]:
    """The pieces of a text from its beginning to its end; of a short one itself."""
    last = max(len(whole) - PIECE, 0)
    for at in (*range(0, last, PIECE), last):
        yield whole[at : at + PIECE]
