"""The one shape of `--json` and `--jsonl` of every looking command (OPS-14)."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from phasewalk.storage.queries import coverage

SCHEMA_VERSION = 1


def print_items(log: sqlite3.Connection, items: Sequence[Any], *, jsonl: bool, truncated: bool = False) -> None:
    """One object with all keys, or one object a line."""
    if jsonl:
        for item in items:
            click.echo(json.dumps(item, ensure_ascii=False))
        return
    document = {
        "schema_version": SCHEMA_VERSION,
        "as_of": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "coverage": coverage(log),
        "truncated": truncated,
        "items": list(items),
    }
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def covers(log: sqlite3.Connection) -> str:
    """What an empty answer covers, in words (OPS-13)."""
    found = coverage(log)
    if not found["turns"]:
        return "the log holds no turns yet"
    text = f"the log covers {found['turns']} turns from {found['from']} to {found['to']}"
    if found["pruned_before"]:
        text += f", pruned before {found['pruned_before']}"
    if found["rows_lost"]:
        text += f", {found['rows_lost']} rows lost"
    return text


def json_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json` and `--jsonl`."""
    command = click.option("--jsonl", is_flag=True, help="One JSON object a line.")(command)
    return click.option("--json", "as_json", is_flag=True, help="One JSON object.")(command)
