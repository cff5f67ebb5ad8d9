"""What the log does not hold of a turn's inputs, so that a difference proves nothing or nothing can be told at all.

Owns the sentences. Walks nothing. Invariant: what is missing is named, and never taken for what was.
"""

import json
import sqlite3
from collections.abc import Mapping

from attrs import evolve, field, frozen

from phasewalk.storage.recorded_trigger import kept_of
from phasewalk.storage.recorded_turn import RecordedTurn, Text
from phasewalk.surfaces.replay.shown import shown_in
from phasewalk.surfaces.replay.today import Today, images_left_out

_CLASSIFIED = ("selection", "families", "warm", "tools", "referred")
_PERMITTED = ("required", "offered", "executable", "capabilities", "missing", "contract", "event", "transition")
_KEPT = (
    "SELECT count(*), coalesce(sum(instr(text, '[erased]') > 0), 0) FROM message WHERE channel_id <> ''"
    " AND entry_id IN (SELECT value FROM json_each(?))"
)


@frozen
class Doubts:
    """`sections` whose difference proves nothing, each with why; `open` what cannot be told however it compares."""

    sections: Mapping[str, str] = field(factory=dict)
    open: tuple[str, ...] = ()

    def of(self, section: str) -> str | None:
        """Why a difference of this section proves nothing; None where it does."""
        return self.sections.get(section.partition(" ")[0] if section.startswith("tool ") else section)

    def adding(self, why: str, *names: str) -> "Doubts":
        """With doubts about these sections; the first reason stays."""
        return evolve(self, sections={**dict.fromkeys(names, why), **self.sections})


def hopeless(record: RecordedTurn, now: Today) -> str | None:
    """Why the turn cannot be walked again at all; None where it can."""
    if record.turn["machine"] not in now.machines:
        return f"no machine of today is called '{record.turn['machine']}'"
    if not record.stays:
        return "the rows of its walk were lost"
    if record.question.body is None:
        return "what was said was pruned"
    return None


def doubts_of(log: sqlite3.Connection, record: RecordedTurn, now: Today) -> Doubts:
    """What of the turn's inputs is not, or not wholly, in the log."""
    found = Doubts()
    if record.question.altered:
        found = found.adding("the message held a secret, which the log does not keep", "user", "request", *_CLASSIFIED)
    if any(text.altered for text in _answers(record)):
        found = found.adding("an answer held a secret, which the log does not keep", "request")
    if images_left_out(record):
        found = found.adding("the images of the message are not in the log", "request")
    found = _of_history(log, record, found)
    if _news_is_gone(record) and now.configuration.bot.news_file is not None:
        found = found.adding("the news of the day were pruned", "context", "request")
    return found if kept_of(record) is not None else _of_older_log(record, now, found)


def _answers(record: RecordedTurn) -> list[Text]:
    return [attempt.response for attempt in record.attempts if attempt.response is not None]


def _of_history(log: sqlite3.Connection, record: RecordedTurn, found: Doubts) -> Doubts:
    shown = shown_in(record) or []
    kept, erased = log.execute(_KEPT, (json.dumps(shown),)).fetchone()
    if kept < len(shown):
        why = f"{len(shown) - kept} of the {len(shown)} entries of history that it was shown were pruned"
        return evolve(found.adding(why, "history", "request"), open=(*found.open, why))
    if erased:
        return found.adding("words of an erased person stood in its history", "request")
    return found


def _news_is_gone(record: RecordedTurn) -> bool:
    context = record.prompt.get("context")
    return isinstance(context, Text) and context.body is None


def _of_older_log(record: RecordedTurn, now: Today, found: Doubts) -> Doubts:
    """A log that kept neither roles nor restrictions of a turn."""
    why = "the log did not keep the person's roles and the turn's restrictions yet"
    found = found.adding(why, "tool", "user", *_PERMITTED)
    settings = now.settings
    privileged = "staff" in settings.privileges.values() and bool(settings.staff_roles)
    if privileged and record.turn["user_id"] not in settings.owners:
        return evolve(found, open=(*found.open, why))
    return found
