"""From a log to what a verdict is made of.

Owns which rows count as evidence of a period. Knows no verdict. Invariant: the first screen and the report judge by
the same numbers.
"""

import sqlite3
from collections.abc import Iterable

from phasewalk.storage.flags import paused
from phasewalk.storage.health import HOUR_US, period, processes
from phasewalk.storage.queries import Row
from phasewalk.surfaces.cli.verdict import ENDED_BADLY, Evidence, Stuck
from phasewalk.surfaces.thresholds import Thresholds


def evidence_of(
    log: sqlite3.Connection,
    stuck: Iterable[Row],
    *,
    since_us: int,
    now_us: int,
    span: str,
    limits: Thresholds,
    until_us: int | None = None,
) -> Evidence:
    """The evidence of a period as somebody sees it at `now_us`, which may lie in the past.

    A process that gave a sign of life after `now_us` lived then, and is no evidence of anything.
    """
    known = (p for p in processes(log) if p.started_us <= now_us and p.heartbeat_us <= now_us)
    flag = paused(log)
    return Evidence(
        now_us=now_us,
        period=period(log, since_us, now_us - HOUR_US, until_us),
        span=span,
        stuck=tuple(Stuck(str(row["rule"]), int(str(row["since_us"]))) for row in stuck),
        processes=tuple(sorted(known, key=lambda process: process.state == "ended")),
        limits=limits,
        paused=flag if flag is not None and flag.since_us <= now_us else None,
    )


def figures_of(evidence: Evidence) -> dict[str, int]:
    """What is counted, in few numbers."""
    found = evidence.period
    return {
        "turns": sum(group.turns for group in found.groups),
        "ended_badly": sum(group.turns for group in found.groups if group.outcome in ENDED_BADLY),
        "running": found.running,
        "stuck": len(evidence.stuck),
        "got_nothing": found.got_nothing,
        "in_doubt": found.in_doubt,
    }
