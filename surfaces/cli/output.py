"""How a looking command hands over its answer: lines, one JSON object, or one object a line (OPS-14).

Owns the object around the items and the writing to standard output. Knows nothing of what the items say.
Invariant: a reader that goes away is no error and changes no exit status.
"""

import csv
import errno
import io
import json
import os
import re
import select
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from phasewalk.storage.queries import coverage, covered_period
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.times import Zone

SCHEMA_VERSION = 1
_CSV_END = "\r\n"
"""What ends a line is what gets quoted inside a cell."""

_MISCHIEF = re.compile(
    "[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What JSON leaves as it is although it can harm a terminal; as an escape it is the same JSON."""


def print_items(
    log: sqlite3.Connection,
    items: Iterable[Any],
    *,
    jsonl: bool,
    truncated: bool = False,
) -> bool:
    """One object with all keys, or one object a line; whether somebody still reads."""
    return _print(items, None if jsonl else coverage(log), jsonl=jsonl, truncated=truncated)


def print_plain_items(items: Iterable[Any], *, jsonl: bool) -> None:
    """The same for what comes out of no log, and covers none."""
    _print(items, None, jsonl=jsonl, truncated=False)


def _print(items: Iterable[Any], covered: object, *, jsonl: bool, truncated: bool) -> bool:
    if jsonl:
        return emit(json_text(item) for item in items)
    document = {
        "schema_version": SCHEMA_VERSION,
        "as_of": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "coverage": covered,
        "truncated": truncated,
        "items": list(items),
    }
    return emit([json_text(document, indent=2)])


def json_text(value: object, indent: int | None = None) -> str:
    """`value` as JSON that is harmless on a terminal too."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _MISCHIEF.sub(lambda found: json.dumps(found[0])[1:-1].replace("\x7f", "\\u007f"), text)


def covers(log: sqlite3.Connection, zone: Zone | None = None) -> str:
    """What an empty answer covers, in words (OPS-13)."""
    shown = zone or Zone(None)
    found = covered_period(log)
    if found.from_us is None or found.to_us is None:
        text = "the log holds no turns"
    else:
        turns = "1 turn" if found.turns == 1 else f"{found.turns} turns"
        text = f"the log covers {turns} from {shown.full(found.from_us)} to {shown.full(found.to_us)} {shown.name}"
    if found.pruned_before_us is not None:
        text += f", pruned before {shown.full(found.pruned_before_us)}"
    return text + (f", {found.rows_lost} rows lost" if found.rows_lost else "")


def json_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json` and `--jsonl`."""
    command = click.option("--jsonl", is_flag=True, help="One JSON object a line.")(command)
    return click.option("--json", "as_json", is_flag=True, help="One JSON object.")(command)


def emit(lines: Iterable[str]) -> bool:
    """Write lines to standard output and see that they arrive; whether somebody still reads.

    A closed pipe is quiet; raises `CommandError` (unreadable) when the output cannot be written for another reason.
    """
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="backslashreplace")
    try:
        for line in lines:
            out.write(f"{line}\n")
        out.flush()
    except OSError as error:
        _turn_off(out)
        _unless_closed(error)
        return False
    return True


def csv_lines(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Lines of CSV without their ends; a cell that holds a line break of any kind is quoted."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator=_CSV_END)
    for row in rows:
        writer.writerow(row)
        yield buffer.getvalue().removesuffix(_CSV_END)
        buffer.seek(0)
        buffer.truncate()


def write_lines(lines: Iterable[str], output: Path | None) -> None:
    """To standard output, or to a file: whole, or the file stays as it is. What is no file (a pipe, a device) is filled.

    Raises `CommandError` (usage) when the file cannot be written.
    """
    if output is None:
        emit(lines)
        return
    target = output.resolve()
    in_place = target.exists() and not target.is_file()
    part = target if in_place else target.with_name(f"{target.name}.part")
    try:
        with part.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(f"{line}\n" for line in lines)
        if not in_place:
            part.replace(target)
    except BrokenPipeError:
        return
    except OSError as error:
        raise CommandError(f"{output}: cannot be written ({error.strerror})", Exit.USAGE) from error
    finally:
        if not in_place:
            part.unlink(missing_ok=True)


def read_on() -> bool:
    """Whether the reader of standard output is still there, as far as the system tells without writing."""
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return not poll.poll(0)
    except (AttributeError, OSError, ValueError):
        return True


def hand_over(document: str | bytes, output: Path | None) -> None:
    """Write one whole document to a file, else to standard output; text as UTF-8 wherever it goes.

    A closed pipe is quiet. Raises `CommandError`: usage for a file that cannot be written, unreadable for the output.
    """
    data = document.encode() if isinstance(document, str) else document
    try:
        if output is not None:
            output.write_bytes(data)
        else:
            click.echo(data, nl=False)
    except OSError as error:
        if output is not None:
            raise CommandError(f"{output}: cannot be written ({error.strerror})", Exit.USAGE) from error
        _turn_off(sys.stdout)
        _unless_closed(error)


def _unless_closed(error: OSError) -> None:
    """A reader that went away is quiet, anything else is told."""
    if error.errno not in (errno.EPIPE, errno.EINVAL):
        raise CommandError(f"standard output cannot be written ({error.strerror})", Exit.UNREADABLE) from error


def _turn_off(out: object) -> None:
    """Let what is left in the buffer go nowhere, so that nothing complains at exit."""
    if isinstance(out, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def exclusive(**forms: bool) -> None:
    """Refuse two forms of one answer."""
    asked: Sequence[str] = [f"--{name}" for name, on in forms.items() if on]
    if len(asked) > 1:
        raise click.UsageError(f"{' and '.join(asked)} are different forms; ask for one")
