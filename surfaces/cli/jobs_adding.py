"""Making a job of what was typed: checked, with the families of its turns frozen, and written down (TURN-17).

Owns the checks and their sentences. Invariant: what is wrong is one sentence, and then nothing was written.
"""

import re
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any

from phasewalk.phases.classify import classify_text, without_name
from phasewalk.phases.vocabulary import Vocabulary
from phasewalk.phases.vocabulary_file import shipped
from phasewalk.storage.jobs import Job, add_job, channel_named, job_named, person_named
from phasewalk.storage.operators import Action
from phasewalk.surfaces.cli.changing import changed, operator
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.work import configuration_and_database
from phasewalk.surfaces.due_times import DueTimeError, DueTimes, zone_named
from phasewalk.surfaces.sections import nearest

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_OF_A_TASK = re.compile(r"task\d+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def added(obj: dict[str, Any], given: dict[str, Any], now_us: int) -> Job:
    """The job that was made. Raises `CommandError` for what is wrong with it, and as `changed` does."""
    name, text = given["name"], given["text"].strip()
    if not _NAME.fullmatch(name) or _OF_A_TASK.fullmatch(name):
        expected = "expected a-z, 0-9, - and _, 40 at most, and not 'task' with a number"
        raise _wrong(f"'{name}' is no name for a job; {expected}")
    if not text:
        raise _wrong("the text is empty; a job says something to the bot")
    for option in ("channel", "user"):
        if not re.fullmatch(r"[0-9]{1,20}", given[option]):
            raise _wrong(f"--{option} '{given[option]}' is no id; expected digits, as Discord numbers it")
    due_us = _due(given, now_us)
    families = _families(obj, given["families"], text)
    made: list[Job] = []

    def work(log: sqlite3.Connection, now: int) -> Action:
        if job_named(log, name) is not None:
            raise _wrong(f"a job is called '{name}' already; remove it first, or take another name")
        guild, channel = channel_named(log, given["channel"])
        job = Job(
            name=name,
            kind="recurring" if given["cron"] else "one_off",
            cron=given["cron"] or "",
            zone=given["zone"],
            state="active",
            channel_id=given["channel"],
            user_id=given["user"],
            text=text,
            created_us=now,
            created_by=operator(),
            families=families,
            due_us=due_us,
            guild_id=given["guild"] or guild,
            channel_name=(given["channel_name"] or channel).removeprefix("#"),
            user_name=given["user_name"] or person_named(log, given["user"]),
        )
        add_job(log, job)
        made.append(job)
        return Action(operator(), "add a job", name, None, job.document())

    changed(obj, work)
    return made[0]


def _wrong(sentence: str) -> CommandError:
    return CommandError(harmless(sentence), Exit.USAGE)


def _due(given: dict[str, Any], now_us: int) -> int:
    """When it is due first."""
    cron, at, zone = given["cron"], given["at"], given["zone"]
    if (cron is None) == (at is None):
        raise _wrong("a job has either --cron EXPR or --at TIME")
    try:
        due = DueTimes.of(cron, zone).after(now_us) if cron is not None else _instant(at, zone)
    except DueTimeError as error:
        raise _wrong(str(error)) from error
    if due is None or due <= now_us:
        raise _wrong(f"'{cron or at}' in {zone} has passed; expected a time to come")
    return due


def _instant(text: str, zone: str) -> int:
    named = zone_named(zone)
    try:
        when = datetime.fromisoformat(text.strip())
        return ((when if when.tzinfo else when.replace(tzinfo=named)) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as error:
        raise DueTimeError(f"'{text}' is no time; expected such as 2026-12-31 23:55") from error


def _families(obj: dict[str, Any], named: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The families that its turns may use: those that were named, else those that the text asks for today."""
    from phasewalk.machine.errors import ConfigurationError
    from phasewalk.surfaces.settings import backends, settings_of
    from phasewalk.surfaces.wiring import families_known, own_tools

    configuration, _ = configuration_and_database(obj)
    try:
        settings = settings_of(configuration, backends(configuration))
        known = families_known(settings, own_tools(configuration, settings))
    except ConfigurationError as error:
        raise CommandError(str(error), Exit.USAGE) from error
    for family in named:
        if family not in known:
            raise _wrong(f"there is no family '{family}'{nearest(family, sorted(known))}")
    vocabulary = settings.vocabulary if isinstance(settings.vocabulary, Vocabulary) else shipped()
    asked = classify_text(without_name(text, settings.bot_name), vocabulary).families
    return tuple(dict.fromkeys(named)) or asked
