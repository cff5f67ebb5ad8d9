"""`phasewalk jobs`: what runs by itself and when, and changing that (TURN-17)."""

import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from phasewalk.storage.jobs import Job, JobState, job_named, listed_jobs, names, remove_job, runs_of, set_job
from phasewalk.storage.queries import Row
from phasewalk.surfaces.cli.changing import changed, operator
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import emit, exclusive, json_options, json_text, print_items
from phasewalk.surfaces.cli.render import coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, ago, now_us, rfc3339, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

COLOURS = {"active": "32", "paused": "33", "done": "2"}
NEXT, LAST = 5, 5
"""How many due times to come and how many runs are shown of a job."""

CODES = "\b\nExit codes: 0 ok, 2 usage, 3 no such job, 4 the log cannot be used."


@click.group(
    invoke_without_command=True,
    epilog="\b\nExamples:\n  phasewalk jobs\n"
    "  phasewalk jobs add standup --cron '30 9 * * mon-fri' --zone Europe/Berlin --channel 204 --user 77 'Who is in today?'\n\n"
    + CODES,
)
@json_options
@zone_options
@click.pass_context
def command(ctx: click.Context, /, *, as_json: bool, jsonl: bool, utc: bool, tz: str | None) -> None:
    """List the jobs, or change them: each runs a turn of the bot when it is due."""
    if ctx.invoked_subcommand is not None:
        return
    exclusive(json=as_json, jsonl=jsonl)
    zone = zone_of(utc=utc, tz=tz)
    with opened_log(ctx.obj) as log:
        found = listed_jobs(log)
        if as_json or jsonl:
            print_items(log, found, jsonl=jsonl)
        elif found:
            emit([*(line for row in found for line in _lines(row, zone)), f"times: {zone.name}"])
        else:
            emit(["no jobs; phasewalk jobs add --help tells how one is made"])


@command.command(
    short_help="Make a job.",
    epilog="\b\nExamples:\n  phasewalk jobs add standup --cron '30 9 * * mon-fri' --zone Europe/Berlin --channel 204 --user 77 'Who is in?'\n"
    "  phasewalk jobs add party --at '2026-12-31 23:55' --zone Europe/Berlin --channel 204 --user 77 'Wish everybody luck.'\n\n"
    "\b\nExit codes: 0 ok, 2 usage, 4 the log cannot be used.",
)
@click.argument("name")
@click.argument("text")
@click.option("--cron", metavar="EXPR", help="When, again and again: minute, hour, day, month, weekday.")
@click.option("--at", metavar="TIME", help="When, once: such as '2026-12-31 23:55'.")
@click.option("--zone", default="UTC", show_default=True, metavar="ZONE", help="The time zone in which that is meant.")
@click.option("--channel", required=True, metavar="ID", help="Where its turns speak.")
@click.option("--channel-name", metavar="NAME", help="What the channel is called; else as the log knows it.")
@click.option("--guild", metavar="ID", help="The channel's server; else as the log knows it.")
@click.option("--user", required=True, metavar="ID", help="For whom it runs.")
@click.option("--user-name", metavar="NAME", help="What that person is called; else as the log knows them.")
@click.option("--family", "families", multiple=True, metavar="FAMILY", help="What its turns may use; else what TEXT asks for.")  # fmt: skip
@click.pass_obj
def add(obj: dict[str, Any], /, **given: Any) -> None:
    """Make a job: when it is due, a turn is walked in which the person says TEXT.

    Which families of tools its turns may use is frozen now.
    """
    from phasewalk.surfaces.cli.jobs_adding import added

    job = added(obj, given, now_us())
    zone = Zone(None)
    if job.due_us is not None:
        using = ", ".join(job.families) or "no tools"
        emit([harmless(f"added {job.name}: due {zone.full(job.due_us)} {zone.name}, with {using}")])


@command.command(
    short_help="Let a job be due no more.",
    epilog="\b\nExamples:\n  phasewalk jobs pause standup\n  phasewalk jobs\n\n" + CODES,
)
@click.argument("name")
@click.pass_obj
def pause(obj: dict[str, Any], name: str) -> None:
    """Let a job be due no more until it is resumed."""

    def work(log: sqlite3.Connection, job: Job, now: int) -> JobState | None:  # noqa: ARG001 - as for resume
        if job.state == "done":
            raise CommandError(harmless(f"'{name}' has run and is done; there is nothing to pause"), Exit.USAGE)
        if job.state == "paused":
            return None
        set_job(log, name, "paused", job.due_us)
        return "paused"

    _change(obj, name, "pause a job", work)


@command.command(
    short_help="Let a paused job be due again.",
    epilog="\b\nExamples:\n  phasewalk jobs resume standup\n  phasewalk jobs show standup\n\n" + CODES,
)
@click.argument("name")
@click.pass_obj
def resume(obj: dict[str, Any], name: str) -> None:
    """Let a paused job be due again; what passed while it was paused is not made up for."""
    from phasewalk.surfaces.due_times import DueTimes

    def work(log: sqlite3.Connection, job: Job, now: int) -> JobState | None:
        if job.state == "active":
            return None
        due = DueTimes.of(job.cron, job.zone).after(now) if job.cron else job.due_us
        if job.state == "done" or due is None or due <= now:
            raise CommandError(harmless(f"the time of '{name}' has passed; make a new job"), Exit.USAGE)
        set_job(log, name, "active", due)
        return "active"

    _change(obj, name, "resume a job", work)


@command.command(
    short_help="Take a job away.", epilog="\b\nExamples:\n  phasewalk jobs remove standup\n  phasewalk jobs\n\n" + CODES
)
@click.argument("name")
@click.pass_obj
def remove(obj: dict[str, Any], name: str) -> None:
    """Take a job away; its turns stay in the log."""

    def work(log: sqlite3.Connection, job: Job, now: int) -> JobState | None:  # noqa: ARG001 - as for resume
        remove_job(log, name)
        return "done"

    _change(obj, name, "remove a job", work)


@command.command(
    epilog="\b\nExamples:\n  phasewalk jobs show standup\n  phasewalk jobs show standup --json\n\n" + CODES
)
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@zone_options
@click.pass_obj
def show(obj: dict[str, Any], /, *, name: str, as_json: bool, utc: bool, tz: str | None) -> None:
    """One job: its text, when it is due next, and its last runs."""
    zone = zone_of(utc=utc, tz=tz)
    with opened_log(obj) as log:
        job = next((row for row in listed_jobs(log) if row["name"] == name), None)
        if job is None:
            raise _unknown(log, name)
        coming, runs = _coming(job), list(runs_of(log, name, LAST))
        if as_json:
            emit([json_text({"schema_version": 1, **job, "coming": [rfc3339(us) for us in coming], "runs": runs}, 2)])
        else:
            emit([*_lines(job, zone), *_more(job, coming, runs, zone), f"times: {zone.name}"])


def _coming(job: Row) -> list[int]:
    """The next due times, the first of which is the one that the job waits for."""
    from phasewalk.surfaces.due_times import DueTimes

    if job["state"] != "active" or job["due_us"] is None:
        return []
    due = int(str(job["due_us"]))
    if not job["cron"]:
        return [due]
    return [due, *islice(DueTimes.of(str(job["cron"]), str(job["zone"])).following(due), NEXT - 1)]


def _change(obj: dict[str, Any], name: str, what: str, work: Any) -> None:
    """Do `work` on the job of this name, with an audit row; what has changed is told."""
    from phasewalk.storage.operators import Action

    def in_log(log: sqlite3.Connection, now: int) -> Action | None:
        job = job_named(log, name)
        if job is None:
            raise _unknown(log, name)
        state = work(log, job, now)
        if state is None:
            click.echo(harmless(f"'{name}' is {job.state} already"), err=True)
            return None
        after = job_named(log, name)
        return Action(operator(), what, name, job.document(), after.document() if after is not None else None)

    if changed(obj, in_log) is not None:
        emit([harmless(f"{what.partition(' ')[0]}d {name}")])


def _unknown(log: sqlite3.Connection, name: str) -> CommandError:
    known = ", ".join(names(log)) or "none"
    return CommandError(harmless(f"no job is called '{name}'; there are: {known}"), Exit.NOT_FOUND)


def _lines(row: Row, zone: Zone) -> Iterator[str]:
    now, width = now_us(), terminal_width()
    due = "" if row["due_us"] is None or row["state"] != "active" else int(str(row["due_us"]))
    state = f", due {zone.full(due)} ({ago(due, now)})" if isinstance(due, int) else ""
    yield coloured(harmless(f"{row['name']}  {row['state']}{state}"), COLOURS[str(row["state"])])
    when = f"{row['cron']} {row['zone']}" if row["cron"] else "once"
    families: Any = row["families"]
    where, who = row["channel_name"] or row["channel_id"], row["user_name"] or row["user_id"]
    told = f"  {when}, in #{where} for {who}, with {', '.join(families) or 'no tools'}"
    yield from wrap(harmless(told), width, "    ")
    if row["last_due_us"] is not None:
        last = int(str(row["last_due_us"]))
        yield f"  last due {zone.full(last)} ({ago(last, now)})"
    if row["missed"]:
        noted = int(str(row["missed_us"]))
        yield f"  missed {row['missed']}, noted {zone.full(noted)} ({ago(noted, now)})"


def _more(job: Row, coming: list[int], runs: list[Row], zone: Zone) -> Iterator[str]:
    width = terminal_width()
    yield from wrap(harmless(f"  says: {job['text']}"), width, "    ")
    yield f"  made {zone.full(int(str(job['created_us'])))} by {harmless(str(job['created_by']))}"
    yield from (f"  due {zone.full(us)}" for us in coming)
    for run in runs:
        ended = f"{run['outcome']}, {run['reason']}" if run["outcome"] else "at work"
        yield harmless(f"  ran {zone.full(int(str(run['started_us'])))}: {ended}; phasewalk show {run['turn_id']}")
    if not runs:
        yield "  has not run yet"
