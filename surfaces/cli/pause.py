"""`phasewalk pause`: no runner begins a new turn until somebody resumes.

Owns how the flag is told. The changes themselves are those of `storage.pausing`, which Discord's commands use too.
"""

from typing import Any

import click

from phasewalk.storage.flags import Flag
from phasewalk.surfaces.cli.changing import on_the_log, operator
from phasewalk.surfaces.cli.output import emit, json_text
from phasewalk.surfaces.cli.paused_said import flag_item, paused_said
from phasewalk.surfaces.cli.render import harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, now_us, zone_of, zone_options


@click.command(
    epilog="\b\nExamples:\n  phasewalk pause\n  phasewalk pause --note 'the model is being moved'\n\n"
    "\b\nExit codes: 0 the bot is paused, also when it was before, 2 usage, 4 the log cannot be used.",
)
@click.option("--note", default="", metavar="TEXT", help="Why, in your words; 'status' shows it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@zone_options
@click.pass_obj
def command(obj: dict[str, Any], /, *, note: str, as_json: bool, utc: bool, tz: str | None) -> None:
    """Let no new turn begin, in any process of this log; what runs already is finished."""
    zone = zone_of(utc=utc, tz=tz)
    from phasewalk.storage.pausing import pause

    flag, changed = on_the_log(obj, lambda path: pause(path, operator(), note))
    if not changed:
        click.echo(f"phasewalk: {already(flag, zone)}", err=True)
    if as_json:
        emit([json_text({"schema_version": 1, "paused": flag_item(flag), "changed": changed}, indent=2)])
    elif changed:
        emit([*wrap(harmless(paused_said(flag, zone, now_us())), terminal_width(), "  "), "next: phasewalk resume"])


def already(flag: Flag, zone: Zone) -> str:
    """One sentence for whoever pauses what is paused."""
    return harmless(f"nothing changed, the bot is {paused_said(flag, zone, now_us())}")
