"""Which turns of a period one looks at first.

Owns the order. Knows no way of printing. Invariant: the order is total, so that the same log gives the same turns, and
of each distinct failure (outcome, reason, phase, first failure) one turn comes before a second one of the same.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Literal, NamedTuple

from phasewalk.storage.health import IN_DOUBT, WITHIN
from phasewalk.storage.queries import FOREVER_US, id_floor
from phasewalk.storage.statistics import FAILED

Because = Literal["stuck", "in_doubt", "got_nothing", "failed", "long"]
BECAUSE: tuple[Because, ...] = ("stuck", "in_doubt", "got_nothing", "failed", "long")
"""Why a turn is looked at, what matters most first; `long` ended well and took long."""


class Worst(NamedTuple):
    """A turn to look at, and how many of the period are alike."""

    turn_id: str
    because: Because
    alike: int


_WORST = (
    "WITH ids AS (SELECT t.turn_id FROM turn AS t"
    f" WHERE {WITHIN} AND t.ended_us IS NOT NULL UNION SELECT value FROM json_each(:stuck)),"
    f" doubtful AS (SELECT DISTINCT t.turn_id FROM {IN_DOUBT} AND {WITHIN}),"
    f" unheard AS (SELECT t.turn_id FROM silent_turns AS t WHERE {WITHIN}),"
    " ranked AS (SELECT t.turn_id, t.outcome, t.reason, coalesce(t.reason_phase, t.phase) AS phase, t.first_reason,"
    "  coalesce(t.ended_us, :ever) - t.started_us AS took_us,"
    "  CASE WHEN t.ended_us IS NULL THEN 0 WHEN t.outcome = 'in_doubt' OR t.turn_id IN doubtful THEN 1"
    f"  WHEN t.turn_id IN unheard THEN 2 WHEN t.outcome IN {FAILED} THEN 3 ELSE 4 END AS place"
    "  FROM ids JOIN turn AS t ON t.turn_id = ids.turn_id),"
    " grouped AS (SELECT turn_id, place, took_us,"
    "  CASE WHEN place < 4 THEN json_array(outcome, reason, phase, first_reason) END AS kind FROM ranked),"
    " ordered AS (SELECT turn_id, place, took_us, row_number() OVER alike AS number,"
    "  count(*) OVER (PARTITION BY place, kind) AS turns FROM grouped"
    "  WINDOW alike AS (PARTITION BY place, kind ORDER BY took_us DESC, turn_id))"
    " SELECT turn_id, place, turns FROM ordered ORDER BY place = 4, number, place, turns DESC, took_us DESC, turn_id"
    " LIMIT :limit"
)


def worst_turns(
    log: sqlite3.Connection, since_us: int, until_us: int | None, *, stuck: Sequence[str], limit: int
) -> list[Worst]:
    """At most `limit` turns: those of `stuck`, of the period those that failed, and then those that took longest."""
    until = FOREVER_US if until_us is None else until_us
    found = log.execute(
        _WORST,
        {
            "floor": id_floor(since_us), "since": since_us, "until": until, "ever": FOREVER_US, "limit": limit,
            "stuck": json.dumps(stuck),
        },
    )  # fmt: skip
    return [Worst(str(turn_id), BECAUSE[place], int(turns)) for turn_id, place, turns in found]
