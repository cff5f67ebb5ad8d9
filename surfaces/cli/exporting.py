"""The lines of `phasewalk export`, by format.

Owns which columns the CSV has and what keeps a spreadsheet from running what somebody wrote in a chat. Asks the log
turn by turn, so that a month needs no memory.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from phasewalk.storage.exchange import exported
from phasewalk.storage.turn_view import turn_item
from phasewalk.surfaces.cli.output import csv_lines, json_text
from phasewalk.surfaces.otlp import request_of

FORMATS = ("jsonl", "otlp-json", "csv")
COLUMNS = (
    "turn_id", "kind", "started", "ended", "took_ms", "outcome", "reason", "phase", "first_reason", "owner",
    "notice_code", "channel_id", "channel_name", "user_id", "user_name", "addressed_by", "trigger_message_id",
    "reply_message_id",
)  # fmt: skip
COUNTS = ("attempts", "failed_attempts", "input_tokens", "output_tokens", "tools", "effects", "models")
TEXTS = ("question", "answer", "notice")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With these a spreadsheet begins to calculate."""


def lines(log: sqlite3.Connection, turn_ids: Sequence[str], form: str, *, content: bool) -> Iterator[str]:
    """The export in a format, line by line."""
    if form == "jsonl":
        return (json_text(row) for row in exported(log, turn_ids))
    if form == "csv":
        return csv_lines(_table(log, turn_ids, content=content))
    return (json_text(request_of(turn_item(log, turn_id, detail=content), content=content)) for turn_id in turn_ids)


def _table(log: sqlite3.Connection, turn_ids: Sequence[str], *, content: bool) -> Iterator[Sequence[object]]:
    """A head, and a row for each turn."""
    yield (*COLUMNS, *COUNTS, *(TEXTS if content else ()))
    for turn_id in turn_ids:
        yield _cells(log, turn_id, content=content)


def _cells(log: sqlite3.Connection, turn_id: str, *, content: bool) -> list[object]:
    item: dict[str, Any] = turn_item(log, turn_id, detail=False)
    attempts = item["attempts"]
    counts = (
        len(attempts),
        sum(a["status"] == "failed" for a in attempts),
        sum(a["input_tokens"] or 0 for a in attempts),
        sum(a["output_tokens"] or 0 for a in attempts),
        len(item["tools"]),
        len(item["effects"]),
        " ".join(dict.fromkeys(f"{a['provider']}/{a['model']}" for a in attempts)),
    )
    texts = [item[name] for name in TEXTS] if content else []
    return [_cell(value) for value in (*(item[name] for name in COLUMNS), *counts, *texts)]


def _cell(value: object) -> object:
    """A value; text that a spreadsheet would run gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
