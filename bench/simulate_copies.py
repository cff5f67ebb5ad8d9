"""From the statements of one scratch turn to those of any number of like turns in the month.

Owns the search for what differs from turn to turn (ids, names, texts, digests, instants) and its replacement. What is
the same in every copy stays as the real log wrote it. Knows no month and no story.
"""

import re
from collections.abc import Callable
from typing import Any

from simulate_pieces import Copy, Pieces, Row
from simulate_story import (
    ANSWER,
    CHANNEL,
    CHANNEL_ID,
    CREATED,
    ENTRY,
    MESSAGE_ID,
    MONO0,
    NAME,
    NUMBER,
    REPLY_ID,
    RESPONSE,
    USER_ID,
    WALL0_US,
    WORDS,
)

from phasewalk.machine.documents import digest_of
from phasewalk.phases.saying import key_of as speech_key
from phasewalk.phases.tool_rounds import _key as call_key
from phasewalk.storage.compression import packed
from phasewalk.storage.statements import ATTEMPT, CONTRACT, ENTER, EXIT, MOVED

Statement = tuple[str, tuple[Any, ...]]
EVENT = (
    "INSERT INTO phase_event (turn_id, seq, phase, visit, kind, at_us, mono_ns, budget_ms, event, transition, to_phase,"
    " guards, reason, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""ENTER and EXIT as one, so that rows of both sorts go into the file in the order of their time."""

NOTE = "INSERT INTO note (user_id, channel_id, text, at_us) VALUES (?, ?, ?, ?)"
TASK = "INSERT INTO task (user_id, channel_id, text, due_us, at_us) VALUES (?, ?, ?, ?, ?)"
WHEN, HISTORY, EARLIER, SUMMARY = (f"qq{n}qq" for n in ("when", "history", "earlier", "summary"))
FIXED = (
    WORDS, ANSWER, NAME, CHANNEL, RESPONSE, CREATED, CHANNEL_ID, USER_ID, MESSAGE_ID, REPLY_ID, WHEN, HISTORY, EARLIER,
    SUMMARY, str(NUMBER), str(ENTRY + 2),
)  # fmt: skip
"""What every copy names anew, in the order of `Copy.names`; then come those that a template has found."""

_OWN = re.compile(r"qq(?:turn|token|effect)[0-9a-f]{8}qq|qqcall\d+qq|\b(?:message|summary):\d+\b")
_DIGEST = re.compile(r"\b[0-9a-f]{32}\b")
_KEY = re.compile(r"\b[0-9a-f]{24}\b")
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
_INSTANT = re.compile(r"\b(?:1599999|1600000)\d{9}\b")
_NAME = re.compile("|".join([*map(re.escape, FIXED), _OWN.pattern, _DIGEST.pattern, _KEY.pattern, _INSTANT.pattern]))
_FIXED_NUMBERS = {name: number for number, name in enumerate(FIXED)}
_TOKENS = re.compile(r'"estimated_tokens":(\d+)')


class Template:
    """How the copies of one scratch turn are made."""

    def __init__(self, statements: list[Statement], texts: dict[str, str]) -> None:
        """`texts` are those of payloads, by digest."""
        self._texts = texts
        self.found: dict[str, int] = {}
        self.makers: list[tuple[int, Callable[[Copy], str]]] = []
        self.static: dict[str, str] = {}
        self.payloads: list[tuple[int, Pieces]] = []
        self.contract: tuple[int, str, int] | None = None
        self.open = not any("outcome = ?" in sql for sql, _ in statements)
        self.turn_id = statements[0][1][0]
        self._name_own(statements)
        self._digests(statements)
        self._names = {**_FIXED_NUMBERS, **self.found}
        self.rows = [self._row(*statement) for statement in self._wanted(statements)]
        instants = [rel for row in self.rows for _, rel in row.instants if row.sql == EVENT]
        self.lasts_us = max(instants)
        self.numbered = next((row.sql for row in self.rows if row.sql in (NOTE, TASK)), "")
        self.number = len(FIXED) + len(self.found)

    def _wanted(self, statements: list[Statement]) -> list[Statement]:
        """All but the contract, and of the moves only the last one of a turn without an end."""
        moves = [index for index, (sql, _) in enumerate(statements) if sql == MOVED]
        last = moves[-1] if moves and self.open else -1
        return [
            statement
            for index, statement in enumerate(statements)
            if statement[0] != CONTRACT and (statement[0] != MOVED or index == last)
        ]

    def _number(self, name: str) -> int:
        return self.found.setdefault(name, len(FIXED) + len(self.found))

    def _name_own(self, statements: list[Statement]) -> None:
        """Ids that the turn made, and what is computed from them."""
        strings = [value for _, values in statements for value in values if isinstance(value, str)]
        for name in dict.fromkeys(name for text in strings for name in _OWN.findall(text)):
            at = self._number(name)
            if name == self.turn_id:
                continue
            if name.startswith("qqcall"):
                self.makers.append((at, lambda copy: f"call_{copy.chance.getrandbits(96):024x}"))
            elif name.startswith(("message", "summary")):
                self.makers.append((at, lambda copy: copy.key))
            else:
                self.makers.append((at, lambda copy: f"{copy.chance.getrandbits(64):016x}"))
        mine = self._number(self.turn_id)
        self.makers.insert(0, (mine, lambda copy: copy.turn_id))
        known = {call_key(self.turn_id, f"call-{n}"): (call_key, f"call-{n}") for n in range(1, 9)}
        kinds = ("answer", "notice", "staff_note", "picture")
        known |= {_spoken(self.turn_id, n, kind): (_spoken, n, kind) for n in range(4) for kind in kinds}
        for key in dict.fromkeys(key for text in strings for key in _KEY.findall(text)):
            make, *rest = known[key]
            self.makers.append((self._number(key), lambda copy, make=make, rest=rest: make(copy.turn_id, *rest)))

    def _digests(self, statements: list[Statement]) -> None:
        """Payloads whose text differs, requests, and the contract."""
        self._names = {**_FIXED_NUMBERS, **self.found}
        for sql, values in statements:
            if sql == CONTRACT:
                self.contract = (self._number(values[0]), values[1], values[2] - WALL0_US)
            elif sql == ATTEMPT:
                at = self._number(values[-1])
                self.makers.append((at, lambda copy: f"{copy.chance.getrandbits(128):032x}"))
        strings = [value for _, values in statements for value in values if isinstance(value, str)]
        for digest in dict.fromkeys(d for text in strings for d in _DIGEST.findall(text)):
            if digest in self.found or digest not in self._texts:
                continue
            pieces = self._pieces(self._texts[digest])
            if pieces is None:
                self.static[digest] = self._texts[digest]
            else:
                self.payloads.append((self._number(digest), pieces))

    def _row(self, sql: str, values: tuple[Any, ...]) -> Row:
        if sql == ENTER:
            turn_id, seq, phase, visit, at, mono, budget, detail = values
            sql = EVENT
            values = (turn_id, seq, phase, visit, "enter", at, mono, budget, *(None,) * 5, detail)
        elif sql == EXIT:
            sql, values = EVENT, (*values[:4], "exit", *values[4:6], None, *values[6:])
        base: list[Any] = []
        instants, monos, names, texts = [], [], [], []
        for index, value in enumerate(values):
            if isinstance(value, str):
                name = self._names.get(value)
                if name is not None:
                    names.append((index, name))
                elif _NAME.search(value) or '"estimated_tokens"' in value:
                    texts.append((index, self._dynamic(value, spills=sql == EVENT or "effect_event" in sql)))
            elif value == ENTRY + 2:
                names.append((index, self._names[str(value)]))
            elif isinstance(value, int) and sql == EVENT and index == 6:
                monos.append((index, value - int(MONO0 * 1e9)))
            elif isinstance(value, int) and abs(value - WALL0_US) < 10**10:
                instants.append((index, value - WALL0_US))
            base.append(str.__str__(value) if isinstance(value, str) else value)  # words of closed sets too
        return Row(sql, base, tuple(instants), tuple(monos), tuple(names), tuple(texts))

    def _dynamic(self, text: str, *, spills: bool) -> Pieces:
        """A text as pieces; in documents the prompt's changing parts become names first."""
        if '"prompt":' in text:
            text = re.sub(r"Date: Sunday, 2020-09-13\\nTime: 12:\d\d UTC", WHEN, text)
            text = re.sub(r'"history":(?:\[\]|\[\[[\d,\[\]]*\]\])', f'"history":{HISTORY}', text)
            text = text.replace(f'}}}},"history":{HISTORY}', f'}}{EARLIER}}},"history":{HISTORY}')
            text = text.replace('"earlier_summary":null', f'"earlier_summary":{SUMMARY}')
        if not spills:
            return self._pieces(text) or Pieces((text,))
        parts: list[Any] = []
        position = 0
        for literal in _LITERAL.finditer(text):
            inner = self._pieces(literal.group()) if WORDS in literal.group() or ANSWER in literal.group() else None
            if inner is None:
                continue
            parts.extend(self._cut(text[position : literal.start()]))
            parts.append(inner)
            position = literal.end()
        return Pieces((*parts, *self._cut(text[position:])))

    def _pieces(self, text: str) -> Pieces | None:
        parts = self._cut(text)
        return Pieces(tuple(parts)) if any(type(part) is not str for part in parts) else None

    def _cut(self, text: str) -> list[Any]:
        parts: list[Any] = []
        position = 0
        for found in _NAME.finditer(text):
            name = self._names.get(found.group())
            instant = name is None and _INSTANT.fullmatch(found.group()) is not None
            if name is None and not instant:
                continue
            parts.extend(self._counted(text[position : found.start()]))
            parts.append(("at", int(found.group()) - WALL0_US) if name is None else name)
            position = found.end()
        return [part for part in (*parts, *self._counted(text[position:])) if part != ""]

    def _counted(self, text: str) -> list[Any]:
        """A constant, with the tokens of a prompt set apart: they grow with its history."""
        found = _TOKENS.search(text)
        if found is None:
            return [text]
        return [text[: found.start(1)], ("tokens", int(found.group(1))), text[found.end(1) :]]

    def stamp(self, copy: Copy, into: dict[str, list[Any]]) -> None:
        """Put the rows of a copy into the lists of their statements."""
        names = copy.names
        for number, make in self.makers:
            names[number] = make(copy)
        payloads = into["payload"]
        for number, pieces in self.payloads:
            text = copy.text(pieces)
            names[number] = digest = digest_of(text)
            payloads.append((digest, len(text), *packed(text.encode())))
        t0, mono0 = copy.t0, copy.mono0
        for row in self.rows:
            values = row.base.copy()
            for index, rel in row.instants:
                values[index] = t0 + rel
            for index, rel in row.monos:
                values[index] = mono0 + rel
            for index, number in row.names:
                values[index] = names[number]
            for index, pieces in row.texts:
                values[index] = copy.text(pieces)
            into[row.sql].append(values)
        payloads.extend((digest, len(text), *packed(text.encode())) for digest, text in copy.spilled)


def _spoken(turn_id: str, index: int, kind: str) -> str:
    return speech_key(turn_id, index, kind)
