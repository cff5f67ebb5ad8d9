"""`phasewalk prune`: bodies of old texts go first, then whole old turns (LOG-11)."""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from phasewalk.machine.errors import StorageError, UnreadableLogError
from phasewalk.surfaces.cli.changing import operator
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import emit
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.times import Zone, instant, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import database_path

KEEP, KEEP_PAYLOADS = "30d", "14d"
SHORTEST_US = 3_600_000_000
"""What is younger than an hour may still be at work."""


@click.command(
    epilog="\b\nExamples:\n  phasewalk prune --dry-run\n  phasewalk prune --keep 90d --keep-payloads 30d\n\n"
    "\b\nExit codes: 0 ok, also when nothing was old enough; 2 usage, 4 the log cannot be used.",
)
@click.option("--keep", metavar="SPAN", help=f"Keep turns that began within it. [storage.keep, else {KEEP}]")
@click.option(
    "--keep-payloads", metavar="SPAN", help=f"Keep texts used within it. [storage.keep-payloads, else {KEEP_PAYLOADS}]"
)
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    keep: str | None,
    keep_payloads: str | None,
    dry_run: bool,
    utc: bool,
    tz: str | None,
) -> None:
    """Take away long texts that no recent turn used, then whole old turns; a bot may run meanwhile.

    The rows of texts stay, marked, while a turn refers to them. Notes, facts and tasks of people stay.
    """
    zone = zone_of(utc=utc, tz=tz)
    path, named = database_path(obj), _configured(obj)
    turns_before = _before("--keep", keep or named.get("keep") or KEEP)
    bodies_before = _before("--keep-payloads", keep_payloads or named.get("keep-payloads") or KEEP_PAYLOADS)
    from phasewalk.storage.retention_prune import Pruned, planned, prune

    try:
        if not path.exists():
            raise UnreadableLogError(f"{path}: no such file; there is nothing to prune")
        if dry_run:
            made = planned(path, turns_before, bodies_before)
            done = Pruned(made.turns, len(made.bodies))
        else:
            made, done = prune(path, turns_before, bodies_before, operator())
    except StorageError as error:
        raise CommandError(harmless(error), Exit.UNREADABLE) from error
    except sqlite3.Error as error:
        raise CommandError(harmless(f"{path}: cannot be pruned ({error})"), Exit.UNREADABLE) from error
    emit(_lines(made, done, zone, "would prune" if dry_run else "pruned"))


def _configured(obj: dict[str, Any]) -> dict[str, str]:
    """`keep` and `keep-payloads` of the configuration; whatever else is wrong in it keeps nobody from pruning."""
    import tomllib

    file = Path(obj["config"] or "phasewalk.toml")
    try:
        storage = tomllib.loads(file.read_text("utf-8")).get("storage", {})
    except FileNotFoundError as error:
        if obj["config"] is None:
            return {}
        raise CommandError(f"{file}: cannot be read ({error.strerror})", Exit.USAGE) from error
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{file}: cannot be read: {error}", Exit.USAGE) from error
    return {str(key): str(value) for key, value in storage.items()} if isinstance(storage, dict) else {}


def _before(option: str, span: str) -> int:
    """The instant that lies `span` back."""
    expected = "expected a span of at least an hour, such as 30d, 12h or 6w"
    if not re.fullmatch(r"\d{1,9}\s*(m|min|h|d|w)", span.strip().lower()):
        raise click.UsageError(f"{option}: {span!r} is no span; {expected}")
    before = instant(span)
    if before > now_us() - SHORTEST_US + 1_000_000:
        raise click.UsageError(f"{option}: {span} is too short; {expected}")
    return before


def _lines(made: Any, done: Any, zone: Zone, verb: str) -> Iterator[str]:
    if made.nothing:
        yield f"nothing to prune: no turn is from before {zone.full(made.turns_before_us)} {zone.name}"
    else:
        size = f"{made.body_bytes / 1_000_000:.1f} MB"
        since = f"{zone.full(made.bodies_before_us)} {zone.name}"
        yield f"{verb} {_count(done.bodies, 'text')} that no turn since {since} used, {size} packed"
        yield f"{verb} {_count(done.turns, 'turn')} from before {zone.full(made.turns_before_us)} {zone.name}"
    for process, texts in Counter(f"process {p.pid} on {p.host} ({p.command})" for p in made.left.values()).items():
        stay = "1 text stays" if texts == 1 else f"{texts} texts stay"
        yield harmless(f"{stay}: {process} may still refer to it; it goes when the log is pruned after a restart")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
