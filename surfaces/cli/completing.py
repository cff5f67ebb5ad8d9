"""What the shell offers behind Tab: names of turns, outcomes, reasons and phases, from the log itself.

Owns the offers. Invariant: a log that cannot be read offers nothing and says nothing, since somebody is typing.
"""

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any

import click

from phasewalk.surfaces.cli.where import opened_log

OFFERED = 20

Offer = Callable[[click.Context, click.Parameter, str], list[str]]


def one_of(words: Iterable[str]) -> Offer:
    """What of these words begins as the word does."""
    return lambda _ctx, _parameter, word: [offered for offered in words if offered.startswith(word)]


def _offer(names: Callable[[sqlite3.Connection, str], Iterable[str]]) -> Offer:
    """What of these names begins as the word does."""

    def offered(ctx: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
        given: dict[str, Any] = ctx.find_root().params
        try:
            with opened_log({"config": given.get("config"), "db": given.get("db")}) as log:
                return [name for name in names(log, word) if name.startswith(word)]
        except (click.ClickException, sqlite3.Error):
            return []

    return offered


def _turns(log: sqlite3.Connection, word: str) -> list[str]:
    """`last`, and the newest turns whose ids begin so."""
    sql = (
        "SELECT turn_id FROM turn WHERE turn_id >= ?1 AND turn_id < ?1 || char(0x10FFFF) ORDER BY turn_id DESC LIMIT ?2"
    )
    return ["last", *(turn_id for (turn_id,) in log.execute(sql, (word, OFFERED)))]


def _reasons(log: sqlite3.Connection, _word: str) -> list[str]:
    from phasewalk.storage.queries import reason_codes

    return reason_codes(log)


def _phases(log: sqlite3.Connection, _word: str) -> list[str]:
    from phasewalk.storage.queries import phase_names

    return phase_names(log)


def _channels(log: sqlite3.Connection, _word: str) -> list[str]:
    """The channels of the newest turns."""
    sql = (
        "SELECT DISTINCT channel_name FROM (SELECT channel_name FROM turn ORDER BY turn_id DESC LIMIT 1000) ORDER BY 1"
    )
    return [name for (name,) in log.execute(sql) if name.isprintable()]


turn_names = _offer(_turns)
reasons = _offer(_reasons)
phases = _offer(_phases)
channels = _offer(_channels)
