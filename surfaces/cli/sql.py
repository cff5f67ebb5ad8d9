"""`phasewalk sql`: the log in SQL, read-only."""

import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from phasewalk.storage.guide import QueryError, asked, relations
from phasewalk.storage.guide import metadata as metadata_of
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import csv_lines, emit, exclusive, json_options, json_text, print_items
from phasewalk.surfaces.cli.render import harmless, table, terminal_width
from phasewalk.surfaces.cli.where import database_path, opened_log

Row = Sequence[object]


@click.command(
    epilog='\b\nExamples:\n  phasewalk sql "SELECT outcome, count(*) FROM turn GROUP BY 1"\n  echo "SELECT * FROM effects_in_doubt" | phasewalk sql - --csv\n\n'
    "\b\nExit codes: 0 ok, 2 a wrong query or an attempt to write, 4 the log cannot be read.",
)
@click.argument("query", required=False)
@click.option("--metadata", is_flag=True, help="Print what Datasette shows of the log: titles, columns, questions.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values with a head.")
@json_options
@click.pass_obj
def command(
    obj: dict[str, Any], /, query: str | None, *, metadata: bool, as_csv: bool, as_json: bool, jsonl: bool
) -> None:
    """Run QUERY on the log, or list what can be asked; `-` reads the query from standard input."""
    exclusive(csv=as_csv, json=as_json, jsonl=jsonl, metadata=metadata)
    if metadata:
        if query is not None:
            raise click.UsageError("--metadata tells of the log, and QUERY asks it; ask for one")
        emit([json_text(metadata_of(database_path(obj).stem), indent=2)])
        return
    text = _standard_input() if query == "-" else query
    with opened_log(obj) as log:
        if text is None:
            _guide(obj, log, as_csv=as_csv, as_json=as_json, jsonl=jsonl)
            return
        try:
            names, found = asked(log, text)
            if as_json or jsonl:
                print_items(log, _objects(names, found), jsonl=jsonl)
            else:
                emit(_csv_lines(names, found) if as_csv else _table(names, found))
        except QueryError as error:
            raise CommandError(harmless(error), Exit.USAGE) from error


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise CommandError("the query on standard input is not UTF-8 text", Exit.USAGE) from error


def _guide(obj: dict[str, Any], log: sqlite3.Connection, *, as_csv: bool, as_json: bool, jsonl: bool) -> None:
    """The documented views and tables, and the file."""
    found = relations(log)
    path = str(database_path(obj))
    if as_json or jsonl:
        print_items(log, [{**relation._asdict(), "file": path} for relation in found], jsonl=jsonl)
        return
    heads, rows = ("name", "type", "holds"), [(r.name, r.type, r.description) for r in found]
    if as_csv:
        emit(_csv_lines(heads, rows))
        return
    listed = table([head.upper() for head in heads], rows, terminal_width())
    emit([f"the log is {harmless(path)}", *listed, "their columns: phasewalk sql --json"])


def _table(names: Sequence[str], rows: Iterable[Row]) -> list[str]:
    return table(names, [[_plain(cell) for cell in row] for row in rows], terminal_width())


def _csv_lines(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Lines of CSV; control characters are data for a program and shown as text on a terminal."""
    show = str if terminal_width() is None else harmless
    return map(show, csv_lines([_plain(cell) for cell in row] for row in _with_head(names, rows)))


def _with_head(names: Sequence[str], rows: Iterable[Row]) -> Iterator[Row]:
    yield names
    yield from rows


def _objects(names: Sequence[str], rows: Iterable[Row]) -> Iterator[dict[str, object]]:
    """Each row as an object; a column name that stands there twice gets a number."""
    keys: list[str] = []
    for name in names:
        before = names[: len(keys)].count(name)
        keys.append(f"{name}_{before + 1}" if before else name)
    for row in rows:
        yield dict(zip(keys, map(_plain, row), strict=True))


def _plain(cell: object) -> object:
    """A value of SQLite as text formats can hold it: blobs in hexadecimal digits, infinity as a word."""
    if isinstance(cell, bytes):
        return f"x'{cell.hex()}'"
    if isinstance(cell, float) and cell in (float("inf"), float("-inf")):
        return str(cell)
    return cell
