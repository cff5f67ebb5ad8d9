"""`phasewalk turn`: one turn from the console."""

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from phasewalk.machine.runner import Ended
from phasewalk.machine.text import storable
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind, Outcome
from phasewalk.storage.turn_document import turn_document
from phasewalk.surfaces.attachments import attachment
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import json_text
from phasewalk.surfaces.cli.work import announce, configuration_and_database, run_work
from phasewalk.surfaces.signals import stop_on_signals
from phasewalk.surfaces.speech import ConsoleSurface, LogSurface
from phasewalk.surfaces.wiring import Application, application

WELL = (Outcome.ANSWERED, Outcome.SILENT, Outcome.SHORT_PATH)


@click.command(
    epilog='\b\nExamples:\n  phasewalk turn "note: the raid moved to Friday"\n  phasewalk turn "hi" --no-direct --channel general --json\n\n'
    "\b\nExit codes: 0 answered, silent or short_path; 1 any other outcome; 2 usage or\nconfiguration; 4 the log cannot be used; 130 interrupted.",
)
@click.argument("text")
@click.option("--channel", default="console", show_default=True, help="Name of the channel it is said in.")
@click.option("--user", default="operator", show_default=True, help="Name of the person who says it.")
@click.option("--direct/--no-direct", default=True, help="Said to the bot directly (default), or overheard.")
@click.option("--mention", is_flag=True, help="The text mentions the bot; implies --no-direct.")
@click.option("--kind", type=click.Choice(["user", "scheduled", "idle"]), default="user", show_default=True)
@click.option("--role", "roles", multiple=True, metavar="ID", help="A role that the person has.")
@click.option("--plan-only", is_flag=True, help="No mutating tool may run in this turn.")
@click.option("--incognito", is_flag=True, help="Nothing of this turn is kept of the person, nor taken from it.")
@click.option("--attach", multiple=True, type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A file.")
@click.option("--deadline", type=click.FloatRange(min=0, min_open=True), help="Seconds for the whole turn.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(
    obj: dict[str, Any], /, text: str, as_json: bool, deadline: float | None, attach: tuple[Path, ...], **said: Any
) -> None:
    """Walk one turn for TEXT and print what the bot says."""
    configuration, database = configuration_and_database(obj)
    files = tuple(map(attachment, attach))

    async def work() -> int:
        surface = LogSurface() if as_json else ConsoleSurface(shown)
        async with application(configuration, database, surface, "turn") as app:
            announce(configuration, app.backends)
            trigger = _trigger(text, attachments=files, redact=app.settings.redact, **said)
            limits = app.settings.limits if deadline is None else evolve(app.settings.limits, turn=deadline)
            with stop_on_signals(*app.runners) as stopping:
                ended = await app.run(trigger, limits)
            status = report(app, ended, as_json=as_json)
            return int(Exit.INTERRUPTED) if stopping else status

    status = run_work(work)
    if status:
        raise SystemExit(status)


def _trigger(text: str, *, direct: bool, mention: bool, kind: str, **said: Any) -> Trigger:
    addressed = Addressed.MENTION if mention else Addressed.DIRECT if direct and kind == "user" else None
    return console_trigger(text, addressed=addressed, kind=Kind(kind), **said)


def console_trigger(text: str, *, channel: str, user: str, redact: Callable[[str], str], **fields: Any) -> Trigger:
    """What somebody typed; `fields` are those of `Trigger`. The names are ids as well, and so hold no secret."""
    channel, user = redact(storable(channel)), redact(storable(user))
    return Trigger(
        key=f"console:{secrets.token_hex(8)}",
        text=storable(text),
        channel_id=channel,
        channel_name=channel,
        user_id=user,
        user_name=user,
        sent_us=time.time_ns() // 1000,
        **{"kind": Kind.USER, **fields},
    )


def report(app: Application, ended: Ended, *, as_json: bool, compact: bool = False) -> int:
    """Print the object (`compact`: on one line), or one line about how it ended; the exit status."""
    turn = ended.turn
    if turn is None:
        raise CommandError(f"turn {ended.turn_id} exists already", Exit.CONDITION)
    if ended.problem is not None:
        click.echo(f"phasewalk: {ended.problem}", err=True)
    if as_json:
        document = turn_document(app.reader, ended.turn_id) if app.log.knows(ended.turn_id) else {}
        if ended.log_lost:
            document |= {"outcome": turn.outcome, "reason": turn.reason}
        click.echo(json_text(document, indent=None if compact else 2))
    else:
        click.echo(
            f"turn {ended.turn_id}: {turn.outcome}, {turn.reason} - {turn.reason.meaning if turn.reason else ''}",
            err=True,
        )
    return int(Exit.OK) if turn.outcome in WELL else int(Exit.CONDITION)


def shown(text: str) -> str:
    """Chat text with control characters made visible, line breaks kept."""
    from phasewalk.surfaces.cli.render import harmless

    return "\n".join(harmless(line) for line in text.split("\n"))
