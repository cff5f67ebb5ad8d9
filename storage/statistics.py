"""Figures over many turns: how long phases and models take, how turns end, what they cost.

Owns the queries, each over one period. Knows no way of printing. Invariant: a percentile is a time that was really
measured (the smallest that so many of a hundred do not exceed), never one between two.
"""

import sqlite3
from collections.abc import Mapping

from phasewalk.storage.queries import FOREVER_US, LONGEST_TURN_US, Row, id_floor, rows

_PERCENTILES = (
    " round(min(CASE WHEN place * 100 >= total * 50 THEN ms END), 3) AS p50_ms,"
    " round(min(CASE WHEN place * 100 >= total * 95 THEN ms END), 3) AS p95_ms,"
    " round(min(CASE WHEN place * 100 >= total * 99 THEN ms END), 3) AS p99_ms"
)
_PLACES = "row_number() OVER (PARTITION BY {0} ORDER BY ms) AS place, count(*) OVER (PARTITION BY {0}) AS total"

FAILED = "('stopped', 'partial', 'undelivered', 'expired', 'cancelled', 'in_doubt', 'abandoned', 'unavailable')"
"""The outcomes whose turns are counted as failures."""

PHASES = (
    "WITH took AS (SELECT x.phase, (x.mono_ns - e.mono_ns) / 1e6 AS ms FROM phase_event AS x JOIN phase_event AS e"
    "  ON e.turn_id = x.turn_id AND e.seq = x.seq - 1 AND e.kind = 'enter'"
    "  WHERE x.kind = 'exit' AND x.turn_id >= :floor AND x.at_us >= :since AND x.at_us < :until),"
    f" placed AS (SELECT *, {_PLACES.format('phase')} FROM took)"
    f" SELECT phase, count(*) AS visits, {_PERCENTILES}, round(max(ms), 3) AS longest_ms FROM placed"
    " GROUP BY phase ORDER BY p95_ms DESC"
)
REASONS = (
    "SELECT t.outcome, t.reason, r.meaning, count(*) AS turns, count(DISTINCT t.user_id) AS people,"
    " max(t.ended_us) AS last_us, max(t.ended) AS last FROM turn AS t JOIN reason AS r ON r.code = t.reason"
    " WHERE t.turn_id >= :floor AND t.started_us >= :since AND t.started_us < :until"
    " GROUP BY t.outcome, t.reason ORDER BY turns DESC, t.outcome"
)
MODELS = (
    "WITH asked AS (SELECT *, (ended_us - started_us) / 1e3 AS ms FROM attempt"
    "  WHERE turn_id >= :floor AND started_us >= :since AND started_us < :until),"
    f" placed AS (SELECT *, {_PLACES.format('provider, model')} FROM asked)"
    " SELECT provider, model, count(*) AS attempts, sum(status = 'failed') AS failed,"
    f" sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, {_PERCENTILES} FROM placed"
    " GROUP BY provider, model ORDER BY attempts DESC"
)
CHANNELS = (
    "SELECT coalesce(nullif(channel_name, ''), channel_id) AS channel, count(*) AS turns,"
    " sum(outcome = 'answered') AS answered, sum(outcome = 'silent') AS silent,"
    " sum(outcome NOT IN ('answered', 'silent', 'short_path', 'completed', 'nothing_to_do')) AS failed,"
    " count(DISTINCT user_id) AS people FROM turn"
    " WHERE turn_id >= :floor AND started_us >= :since AND started_us < :until"
    " GROUP BY channel_id ORDER BY turns DESC"
)
FAILURES = (
    "SELECT t.reason, t.reason_phase AS phase, coalesce(t.first_reason, t.reason) AS first_reason, t.outcome,"
    " count(*) AS turns, count(DISTINCT t.user_id) AS people, min(t.started_us) AS first_us, min(t.started) AS first,"
    " max(t.started_us) AS last_us, max(t.started) AS last, max(t.turn_id) AS last_turn_id FROM turn AS t"
    f" WHERE t.turn_id >= :floor AND t.started_us >= :since AND t.started_us < :until AND t.outcome IN {FAILED}"
    " GROUP BY 1, 2, 3, 4 ORDER BY turns DESC, last_us DESC, 1, 2, 3, 4"
)
BY: Mapping[str, str] = {
    "phase": PHASES,
    "reason": REASONS,
    "model": MODELS,
    "channel": CHANNELS,
    "failure": FAILURES,
}
"""The queries by what they group."""


def statistics(connection: sqlite3.Connection, by: str, since_us: int, until_us: int | None) -> list[Row]:
    """The figures of one period, grouped; a turn counts where it began, a visit and a call where they did."""
    until = until_us if until_us is not None else FOREVER_US
    floor = id_floor(max(since_us - LONGEST_TURN_US, 0))
    return rows(connection, BY[by], {"floor": floor, "since": since_us, "until": until})
