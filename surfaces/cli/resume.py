"""`phasewalk resume`: the end of a pause."""

from typing import Any

import click

from phasewalk.surfaces.cli.changing import on_the_log, operator
from phasewalk.surfaces.cli.output import emit, json_text
from phasewalk.surfaces.cli.paused_said import flag_item, paused_said
from phasewalk.surfaces.cli.render import harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import now_us, zone_of, zone_options

NOT_PAUSED = "nothing changed, the bot is not paused"


@click.command(
    epilog="\b\nExamples:\n  phasewalk resume\n  phasewalk resume --json\n\n"
    "\b\nExit codes: 0 the bot is not paused, also when it was not before, 2 usage, 4 the log cannot be used.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@zone_options
@click.pass_obj
def command(obj: dict[str, Any], /, *, as_json: bool, utc: bool, tz: str | None) -> None:
    """Let turns begin again."""
    zone = zone_of(utc=utc, tz=tz)
    from phasewalk.storage.pausing import resume

    flag = on_the_log(obj, lambda path: resume(path, operator()))
    if flag is None:
        click.echo(f"phasewalk: {NOT_PAUSED}", err=True)
    if as_json:
        item = {"schema_version": 1, "paused": None, "was": flag_item(flag), "changed": flag is not None}
        emit([json_text(item, indent=2)])
    elif flag is not None:
        emit(wrap(harmless(f"resumed; it was {paused_said(flag, zone, now_us())}"), terminal_width(), "  "))
