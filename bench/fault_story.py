"""What the log says of each turn of the fault run, beside what was really asked, answered, run and heard.

Owns the reading. Judges nothing: `fault_checks.py` does.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from attrs import frozen
from fault_script import Asked, Ears, Script, Served, asked

from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.speech import Speech
from phasewalk.storage.turn_document import text_of

Row = dict[str, object]

ORDER = (("one", "one-a"), ("one", "one-b"), ("two", "two-a"), ("three", "three-a"))
"""The candidates in the order of the configuration."""

RETRY_MODELS = {"one-r": "one", "two-r": "two"}
UNENDED = "deadline_passed"
"""The verdict on an attempt that the turn's deadline cut off."""


@frozen
class Story:
    """One turn. `verdicts` has for each attempt the reason why it was no use, or None."""

    asked: Asked
    turn: Row
    events: tuple[Row, ...]
    attempts: tuple[Row, ...]
    steps: tuple[Row, ...]
    calls: tuple[Row, ...]
    effects: tuple[Row, ...]
    verdicts: tuple[str | None, ...]
    served: tuple[Served, ...]
    heard: tuple[Speech, ...]
    ran: tuple[str, ...]

    def after_effects(self, attempt: Row) -> bool:
        """Whether a mutating tool was started before this attempt."""
        return any(e["kind"] == "tool" and e["intended_us"] <= attempt["started_us"] for e in self.effects)

    def kind_of(self, index: int) -> FailureKind | None:
        """What sort of failure this attempt came to; one that was too late is that, whatever was sent."""
        verdict, fault = self.verdicts[index], self.served[index].fault
        if verdict is None:
            return None
        return FailureKind.TRANSIENT if verdict == "timed_out" or fault is None else fault.kind

    def candidate_of(self, attempt: Row) -> tuple[object, object]:
        """The candidate that was asked; a retry model stands for the one before it."""
        if attempt["model"] not in RETRY_MODELS:
            return attempt["provider"], attempt["model"]
        before = [a for a in self.attempts if a["n"] < attempt["n"] and a["model"] not in RETRY_MODELS]
        return (before[-1]["provider"], before[-1]["model"]) if before else (None, None)


def stories(database: Path, script: Script, ears: Ears, runs: list[str]) -> Iterator[Story]:
    """A story for each turn in the log, in order of their numbers."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as log:
        for turn in sorted(_rows(log, "SELECT * FROM turn"), key=_number):
            yield _story(log, turn, script, ears, runs)


def ask(database: Path, query: str) -> list[tuple[object, ...]]:
    """Rows of the log."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as log:
        return log.execute(query).fetchall()


def _rows(log: sqlite3.Connection, query: str, *values: object) -> tuple[Row, ...]:
    found = log.execute(query, values)
    names = [column[0] for column in found.description]
    return tuple(dict(zip(names, row, strict=True)) for row in found)


def _number(turn: Row) -> int:
    return int(str(turn["trigger_key"]).removeprefix("fault:"))


def _story(log: sqlite3.Connection, turn: Row, script: Script, ears: Ears, runs: list[str]) -> Story:
    number, name = _number(turn), turn["turn_id"]
    events = _rows(log, "SELECT * FROM phase_event WHERE turn_id = ? ORDER BY seq", name)
    attempts = _rows(log, "SELECT * FROM attempt WHERE turn_id = ? ORDER BY n", name)
    calls = _rows(log, "SELECT * FROM tool_call WHERE turn_id = ?", name)
    return Story(
        asked=asked(script.seed, number),
        turn=turn,
        events=events,
        attempts=attempts,
        steps=_rows(log, "SELECT * FROM fallback_step WHERE turn_id = ? ORDER BY step", name),
        calls=tuple({**row, "arguments": text_of(log, str(row["arguments_digest"])) or ""} for row in calls),
        effects=_rows(log, "SELECT * FROM effects WHERE turn_id = ? ORDER BY position", name),
        verdicts=_verdicts(events, attempts),
        served=tuple(script.served[number]),
        heard=tuple(ears.heard[number]),
        ran=tuple(ticket for ticket in runs if ticket.startswith(f"<{number}.")),
    )


def _verdicts(events: tuple[Row, ...], attempts: tuple[Row, ...]) -> tuple[str | None, ...]:
    """What became of each attempt: the reason why it failed, was rejected, crashed or was cut short, or None."""
    exits = [event for event in events if event["kind"] == "exit"]
    found: list[str | None] = []
    for left, following in zip(exits, [*exits[1:], None], strict=True):
        if left["phase"] != "model_attempt" or left["event"] not in _ASKED:
            continue
        if left["event"] == "attempt_failed":
            found.append(str(left["reason"]))
        else:
            useless = following is not None and following["event"] in ("envelope_rejected", "crashed", UNENDED)
            found.append(str(following["reason"]) if useless and following is not None else None)
    if len(found) < len(attempts):
        found.append(UNENDED)
    return tuple(found)


_ASKED = ("output_received", "tools_requested", "attempt_failed")
