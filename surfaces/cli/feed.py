"""`phasewalk feed`: replies to a chat export, message by message."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import click

from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.recover import places
from phasewalk.surfaces.cli.work import announce, configuration_and_database, run_work
from phasewalk.surfaces.export import Export, open_export
from phasewalk.surfaces.export_errors import ExportFileError
from phasewalk.surfaces.feed import Feed, Selection, Tally
from phasewalk.surfaces.signals import Stopping, stop_on_signals
from phasewalk.surfaces.speech import LogSurface
from phasewalk.surfaces.wiring import application

STATUS = {"missing": Exit.NOT_FOUND, "unreadable": Exit.UNREADABLE, "cut_off": Exit.INCOMPLETE}
PROGRESS_EVERY = 0.2


@click.command(
    epilog="\b\nExamples:\n  phasewalk feed export.json\n  phasewalk feed *.json --only-mentions --limit 100\n\n"
    "\b\nExit codes: 0 all settled, 1 a turn could not be logged, 2 usage or configuration,\n3 no such file, 4 not a readable export, 5 an export is cut off, 130 interrupted.",
)
@click.argument("exports", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--only-mentions", is_flag=True, help="Only messages that speak to the bot.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many turns.")
@click.option("--concurrency", type=click.IntRange(min=1), default=4, show_default=True, help="Channels side by side.")
@click.option("--json", "as_json", is_flag=True, help="Print the tally as one JSON object.")
@click.pass_obj
def command(
    obj: dict[str, Any],
    exports: tuple[Path, ...],
    only_mentions: bool,
    limit: int | None,
    concurrency: int,
    as_json: bool,
) -> None:
    """Feed EXPORTS (DiscordChatExporter JSON) through the machine; what was fed before is left alone."""
    configuration, database = configuration_and_database(obj)
    opened, errors = _open(exports)

    watch = _Watch()

    async def work() -> tuple[Tally, Stopping]:
        async with application(configuration, database, LogSurface(), "feed", reached=places()) as app:
            announce(configuration, app.backends)
            with stop_on_signals(*app.runners) as stopping:
                await app.recovery.settle()
                feed = Feed(app, Selection(only_mentions, limit), stopping, watch.tick)
                return await feed.run(opened, concurrency), stopping

    if not opened:
        _complain(errors)
    tally, stopping = run_work(work)
    watch.clear()
    tally.errors[:0] = errors
    _print(tally, as_json=as_json)
    if stopping:
        raise SystemExit(int(Exit.INTERRUPTED))
    _complain(tally.errors)
    if tally.problem is not None:
        click.echo(f"phasewalk: {tally.problem}; the feed stopped there, feed again to go on", err=True)
        raise SystemExit(int(Exit.CONDITION))


def _open(paths: tuple[Path, ...]) -> tuple[list[tuple[Path, Export]], list[ExportFileError]]:
    """The exports whose head can be read, and what is wrong with the others."""
    opened: list[tuple[Path, Export]] = []
    errors: list[ExportFileError] = []
    for path in paths:
        try:
            opened.append((path, open_export(path)))
        except ExportFileError as error:
            errors.append(error)
    return opened, errors


def _complain(errors: list[ExportFileError]) -> None:
    """Say what was wrong, one sentence each, and end with the gravest status."""
    for error in errors:
        click.echo(f"phasewalk: {error}", err=True)
    if errors:
        raise SystemExit(int(max(STATUS[error.kind] for error in errors)))


class _Watch:
    """The progress line on standard error, where that is a terminal."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._next = 0.0
        self._on = False

    def tick(self, tally: Tally) -> None:
        """Renew the line, a few times a second."""
        now = time.monotonic()
        if now < self._next or not sys.stderr.isatty():
            return
        self._next = now + PROGRESS_EVERY
        self._on = True
        rate = tally.messages / max(now - self._started, 0.001)
        click.echo(f"\r{tally.messages} messages, {tally.turns} turns, {rate:.0f} messages/s ", err=True, nl=False)

    def clear(self) -> None:
        """Take the line away."""
        if self._on:
            click.echo("\r\x1b[K", err=True, nl=False)


def _print(tally: Tally, *, as_json: bool) -> None:
    for note in tally.notes:
        click.echo(f"phasewalk: {note}", err=True)
    if as_json:
        document = {
            "schema_version": 1,
            "messages": tally.messages,
            "turns": tally.turns,
            "already_fed": tally.known,
            "left_out": tally.overheard_left_out,
            "outcomes": dict(tally.outcomes),
            "ignored": dict(tally.ignored),
            "notes": tally.notes,
            "complete": tally.full,
        }
        click.echo(json.dumps(document, ensure_ascii=False))
        return
    click.echo(f"{tally.messages} messages: {_counts(tally.outcomes, 'turns', tally.turns)}")
    if tally.known:
        click.echo(f"{tally.known} had been fed before and were left alone")
    if tally.overheard_left_out:
        click.echo(f"{tally.overheard_left_out} do not speak to the bot and were left out")
    if tally.ignored:
        click.echo(_counts(tally.ignored, "open no turn", sum(tally.ignored.values())))


def _counts(counts: dict[str, int], what: str, total: int) -> str:
    parts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
    return f"{total} {what}" + (f" ({parts})" if parts else "")
