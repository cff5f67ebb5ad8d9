"""Jobs and due tasks: what is due, what is owed a turn, and how both are moved on (TURN-17).

Owns the table `job` and when a task counts as reminded. Computes no due time and walks nothing. Invariants: a due
time that came is owed until a turn was opened for it (a trigger of the database notes that); of two processes one
moves a job on.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Literal

from attrs import field, fields_dict, frozen

from phasewalk.machine.documents import json_of
from phasewalk.storage.queries import Row, rows
from phasewalk.storage.writer import Writer

JobKind = Literal["one_off", "recurring"]
JobState = Literal["active", "paused", "done"]

KEY = "schedule"
"""The kind of key of a scheduled turn's trigger."""


def _families(said: object) -> tuple[str, ...]:
    return tuple(json.loads(said)) if isinstance(said, str) else tuple(said)  # type: ignore[arg-type]


@frozen
class Job:
    """A job as it stands in the table; times are microseconds since the epoch."""

    name: str
    kind: JobKind
    cron: str
    zone: str
    state: JobState
    channel_id: str
    user_id: str
    text: str
    created_us: int
    created_by: str
    families: tuple[str, ...] = field(default=(), converter=_families)
    due_us: int | None = None
    owed_us: int | None = None
    last_due_us: int | None = None
    missed: int = 0
    missed_us: int | None = None
    guild_id: str = ""
    channel_name: str = ""
    user_name: str = ""

    def document(self) -> dict[str, object]:
        """What an audit row tells of it."""
        told = ("kind", "cron", "zone", "state", "due_us", "channel_id", "user_id", "families", "text")
        return {name: getattr(self, name) for name in told}


@frozen
class Reminder:
    """An open task whose time has come, in a channel that a bot hears."""

    number: int
    due_us: int
    text: str
    user_id: str
    user_name: str
    channel_id: str
    channel_name: str
    guild_id: str


_COLUMNS = ", ".join(fields_dict(Job))
_JOBS = f"SELECT {_COLUMNS} FROM job"  # noqa: S608 - columns of the class
_DUE = (
    f"{_JOBS} WHERE state = 'active' AND (due_us <= :now"
    " OR (kind = 'recurring' AND last_due_us > :now AND due_us > last_due_us)) ORDER BY due_us"
)
"""Also those whose last due time is still to come, since the wall clock was set back."""

_OWED = f"{_JOBS} WHERE owed_us IS NOT NULL ORDER BY owed_us"
_MOVE = (
    "UPDATE job SET due_us = :next, state = CASE WHEN :next IS NULL THEN 'done' ELSE state END,"
    " owed_us = coalesce(:owed, owed_us), last_due_us = coalesce(:owed, last_due_us),"
    " missed = missed + :missed, missed_us = CASE WHEN :missed THEN :now ELSE missed_us END"
    " WHERE name = :name AND state = 'active' AND due_us = :due"
)
_NAME = (
    "SELECT user_name FROM (SELECT user_id, user_name FROM turn ORDER BY turn_id DESC LIMIT 50000)"
    " WHERE user_id = {} AND user_name <> '' LIMIT 1"
)
"""What a person was called last, among the last turns, which bounds the work without an index."""

_REMINDERS = (
    f"SELECT k.number, k.due_us, k.text, k.user_id, coalesce(({_NAME.format('k.user_id')}), k.user_id), k.channel_id,"  # noqa: S608 - pieces of this file
    " c.channel_name, c.guild_id"
    " FROM task AS k JOIN channel_cursor AS c ON c.channel_id = k.channel_id"
    " WHERE k.due_us <= ? AND k.done_us IS NULL AND k.due_us IS NOT NULL AND k.reminded_us IS NULL ORDER BY k.due_us"
)


@frozen
class SqliteJobs:
    """The jobs of one log, as whoever runs them needs them."""

    writer: Writer
    reader: sqlite3.Connection

    def due(self, now_us: int) -> list[Job]:
        """The active jobs that are to be moved on, the one that was due first before the others."""
        return _made(self.reader, _DUE, {"now": now_us})

    def owed(self) -> list[Job]:
        """The jobs of which a due time came that has no turn yet."""
        return _made(self.reader, _OWED, ())

    def reminders(self, now_us: int) -> list[Reminder]:
        """The tasks that their people are to be reminded of; only once each."""
        return [Reminder(*row) for row in self.reader.execute(_REMINDERS, (now_us,))]

    async def move(self, job: Job, owed_us: int | None, next_us: int | None, missed: int, now_us: int) -> bool:
        """Owe a turn for `owed_us`, be due at `next_us` next (never again for None); False when somebody else did.

        `missed` due times are passed over.
        """
        values = {"owed": owed_us, "next": next_us, "missed": missed, "now": now_us, "name": job.name}
        values["due"] = job.due_us
        return bool(await self.writer.call(lambda log: log.execute(_MOVE, values).rowcount, durable=True))

    async def has_turn(self, key: str) -> None:
        """A turn of this key exists already; so nothing is owed for it."""
        await self.writer.call(lambda log: _has_turn(log, key))


def _has_turn(log: sqlite3.Connection, key: str) -> None:
    _, name, due = key.split(":")
    log.execute("UPDATE job SET owed_us = NULL WHERE name = ? AND owed_us = ?", (name, int(due)))
    log.execute(
        "UPDATE task SET reminded_us = due_us WHERE 'task' || number = ? AND due_us = ? AND done_us IS NULL",
        (name, int(due)),
    )


def _made(log: sqlite3.Connection, sql: str, values: Any) -> list[Job]:
    return [Job(**row) for row in rows(log, sql, values)]  # type: ignore[arg-type]  # the columns are the fields


# What the command does, each within a transaction of its own.


def job_named(log: sqlite3.Connection, name: str) -> Job | None:
    """The job of this name."""
    return next(iter(_made(log, f"{_JOBS} WHERE name = ?", (name,))), None)


def person_named(log: sqlite3.Connection, user_id: str) -> str:
    """What the log calls a person; nothing where it does not know them."""
    row = log.execute(_NAME.format("?"), (user_id,)).fetchone()
    return str(row[0]) if row is not None else ""


def channel_named(log: sqlite3.Connection, channel_id: str) -> tuple[str, str]:
    """The server and the name of a channel that a bot has heard; both empty for another one."""
    row = log.execute(
        "SELECT guild_id, channel_name FROM channel_cursor WHERE channel_id = ?", (channel_id,)
    ).fetchone()
    return (str(row[0]), str(row[1])) if row is not None else ("", "")


def names(log: sqlite3.Connection) -> list[str]:
    """The names of all jobs."""
    return [str(name) for (name,) in log.execute("SELECT name FROM job ORDER BY name")]


def add_job(log: sqlite3.Connection, job: Job) -> None:
    """Keep a new job; raises `sqlite3.IntegrityError` where there is one of this name."""
    values = [json_of(v) if isinstance(v := getattr(job, name), tuple) else v for name in fields_dict(Job)]
    marks = ", ".join("?" * len(values))
    log.execute(f"INSERT INTO job ({_COLUMNS}) VALUES ({marks})", values)  # noqa: S608 - columns of the class


def set_job(log: sqlite3.Connection, name: str, state: JobState, due_us: int | None) -> None:
    """Pause a job or make it active again; what is owed is dropped."""
    log.execute("UPDATE job SET state = ?, due_us = ?, owed_us = NULL WHERE name = ?", (state, due_us, name))


def remove_job(log: sqlite3.Connection, name: str) -> None:
    """Take a job away; its turns stay."""
    log.execute("DELETE FROM job WHERE name = ?", (name,))


_LISTED = (
    "SELECT name, kind, cron, zone, state, due_us, due, owed_us, owed, last_due_us, last_due, missed, missed_us,"
    " missed_at, guild_id, channel_id, channel_name, user_id, user_name, text, families, created_us, created,"
    " created_by FROM job ORDER BY due_us IS NULL, due_us, name"
)
_RUNS = (
    "SELECT turn_id, trigger_key, started_us, started, ended_us, ended, outcome, reason FROM turn"
    " WHERE trigger_key >= ? AND trigger_key < ? ORDER BY turn_id DESC LIMIT ?"
)


def listed_jobs(log: sqlite3.Connection) -> list[Row]:
    """Every job, the next due one first."""
    return [{**row, "families": json.loads(str(row["families"]))} for row in rows(log, _LISTED)]


def runs_of(log: sqlite3.Connection, name: str, limit: int) -> Sequence[Row]:
    """The last turns of a job, the newest first."""
    return rows(log, _RUNS, (f"{KEY}:{name}:", f"{KEY}:{name};", limit))
