"""`phasewalk sql`: the log in SQL, read-only."""

import csv
import io
import sqlite3
import sys
from typing import Any

import click

from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import json_options, print_items
from phasewalk.surfaces.cli.render import table, terminal_width
from phasewalk.surfaces.cli.where import database_path, opened_log

DOCUMENTED = {
    "turn": "each turn: who, where, when, how it ended and why",
    "phase_event": "entry and exit of each visit, with event, transition, guards and detail",
    "attempt": "each model call: cause, candidate, status, tokens",
    "fallback_step": "each candidate considered: taken, skipped, refused or exhausted, with rule and values",
    "tool_call": "each tool call with its status",
    "effect": "what cannot be taken back, with its idempotency key",
    "effect_event": "intents and receipts of effects",
    "message": "history: what was said, by whom, and whether it was sent",
    "contract": "what turns were allowed to use, by content",
    "machine": "each transition table that was ever run",
    "process": "each start of phasewalk, with its last sign of life",
    "payload": "texts, stored once by content",
    "reason": "the closed list of reasons with their meaning",
    "ignored_message": "messages that opened no turn, counted by reason",
    "effects": "view: each effect with its present state",
    "effects_in_doubt": "view: what may or may not have happened",
    "stuck_turns": "view: what does not move, by which rule",
    "turn_timeline": "view: what happened in a turn, in order, with offsets",
    "attempt_tree": "view: which model calls, caused by what, the first failure marked",
    "fallback_stops": "view: where fallback ended, with rule and values",
    "silent_turns": "view: who spoke to the bot and got nothing",
    "failure_groups": "view: distinct failures, since when, how many people",
    "transition_heat": "view: how often each transition is used, which never",
    "log_coverage": "view: which period the log covers, what was pruned or lost",
}


@click.command(
    epilog='\b\nExamples:\n  phasewalk sql "SELECT outcome, count(*) FROM turn GROUP BY 1"\n  echo "SELECT * FROM effects_in_doubt" | phasewalk sql - --csv\n\n'
    "\b\nExit codes: 0 ok, 2 a wrong query or an attempt to write, 4 the log cannot be read.",
)
@click.argument("query", required=False)
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values with a head.")
@json_options
@click.pass_obj
def command(obj: dict[str, Any], /, query: str | None, *, as_csv: bool, as_json: bool, jsonl: bool) -> None:
    """Run QUERY on the log, or list what can be asked; `-` reads the query from standard input."""
    if sum((as_csv, as_json, jsonl)) > 1:
        raise click.UsageError("--csv, --json and --jsonl are three forms; ask for one")
    with opened_log(obj) as log:
        if query is None:
            _list(obj, log)
            return
        names, found = _asked(log, sys.stdin.read() if query == "-" else query)
        if as_json or jsonl:
            items = [dict(zip(names, map(_plain, row), strict=True)) for row in found]
            print_items(log, items, jsonl=jsonl)
        elif as_csv:
            out = io.StringIO()
            csv.writer(out, lineterminator="\n").writerows([names, *([_plain(cell) for cell in row] for row in found)])
            click.echo(out.getvalue(), nl=False)
        elif names:
            for line in table(names, [[_plain(cell) for cell in row] for row in found], terminal_width()):
                click.echo(line)


def _asked(log: sqlite3.Connection, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names and rows; a wrong query is one sentence and status 2."""
    try:
        log.execute("PRAGMA query_only = ON")
        cursor = log.execute(query)
        return [column[0] for column in cursor.description or ()], cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise CommandError(f"{error}; expected one SELECT, see 'phasewalk sql' for the tables", Exit.USAGE) from error


def _plain(cell: object) -> object:
    return f"<{len(cell)} bytes>" if isinstance(cell, bytes) else cell


def _list(obj: dict[str, Any], log: sqlite3.Connection) -> None:
    """The documented tables and views, their columns left to `PRAGMA table_info`, and the file."""
    click.echo(f"the log is {database_path(obj)}")
    known = {name for (name,) in log.execute("SELECT name FROM sqlite_master")}
    for line in table(("NAME", "HOLDS"), [(n, text) for n, text in DOCUMENTED.items() if n in known], terminal_width()):
        click.echo(line)
