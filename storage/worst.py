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
    """A turn to look at, and how many failed alike."""

    turn_id: str
    because: Because
    alike: int


_WORST = (
    "WITH found AS (SELECT value AS turn_id, 0 AS place FROM json_each(:stuck)"
    f" UNION ALL SELECT t.turn_id, 1 FROM {IN_DOUBT} AND {WITHIN}"
    f" UNION ALL SELECT t.turn_id, 2 FROM silent_turns AS t WHERE {WITHIN}"
    f" UNION ALL SELECT t.turn_id, CASE t.outcome WHEN 'in_doubt' THEN 1 ELSE 3 END FROM turn AS t"
    f"  WHERE {WITHIN} AND t.outcome IN {FAILED}),"
    " placed AS (SELECT turn_id, min(place) AS place FROM found GROUP BY turn_id),"
    " kinds AS (SELECT p.turn_id, p.place, coalesce(t.ended_us, :ever) - t.started_us AS took_us,"
    "  json_array(p.place, t.outcome, t.reason, coalesce(t.reason_phase, t.phase), t.first_reason) AS kind"
    "  FROM placed AS p JOIN turn AS t ON t.turn_id = p.turn_id),"
    " failed AS (SELECT turn_id, place, took_us, count(*) OVER (PARTITION BY kind) AS alike,"
    "  row_number() OVER (PARTITION BY kind ORDER BY took_us DESC, turn_id) AS number FROM kinds),"
    " long AS (SELECT t.turn_id, 4, t.ended_us - t.started_us AS took_us, 1, 0 FROM turn AS t"
    f"  WHERE {WITHIN} AND t.ended_us IS NOT NULL AND t.turn_id NOT IN (SELECT turn_id FROM placed)"
    "  ORDER BY took_us DESC, t.turn_id LIMIT :limit)"
    " SELECT turn_id, place, alike FROM (SELECT * FROM failed UNION ALL SELECT * FROM long)"
    " ORDER BY place = 4, number, place, alike DESC, took_us DESC, turn_id LIMIT :limit"
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
