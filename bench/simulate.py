"""Fills a log with a believable month of a busy bot, for measuring and for looking at faults.

    python bench/simulate.py --turns 10000 --days 30 --seed 1 --db month.db [--fault hanging]

The turns are real: each sort is walked some times by the real machines and phases with a scripted model, on a clock
that jumps; the statements that the real log then executed are copied with other people, texts, ids and times. The
same seed and `--now` make the same rows. `--fault` shapes the last hours. Look at once, since a log ages: without
`--now` the last sign of life is that of the end of writing.
"""

import argparse
import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

from simulate_faults import Fault, Plan
from simulate_month import Month


def simulate(
    path: Path, turns: int, *, days: int = 30, seed: int = 1, fault: str | None = None, hours: float = 3.0,
    now_us: int | None = None,
) -> Month:  # fmt: skip
    """Write the file; what was made of it stands in `totals`."""
    looked = time.time_ns() // 1000 if now_us is None else now_us
    plan = Plan(turns, days, seed, looked, Fault(fault) if fault else None, hours)
    month = Month(path, plan, seed)
    month.write()
    if now_us is None and plan.fault is not Fault.PROCESS_DEAD:
        log = sqlite3.connect(path)
        with log:  # the process has lived on while the file was written
            log.execute("UPDATE process SET heartbeat_us = ? WHERE ended_us IS NULL", (time.time_ns() // 1000,))
        log.close()
    return month


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--db", type=Path, required=True, help="the file to make; one that is there is replaced")
    parser.add_argument("--fault", choices=[str(fault) for fault in Fault])
    parser.add_argument("--hours", type=float, default=3.0, help="how long the fault has lasted [3]")
    parser.add_argument("--now", type=datetime.fromisoformat, help="when somebody looks, ISO 8601 [now]")
    asked = parser.parse_args()
    now = asked.now if asked.now is None or asked.now.tzinfo else asked.now.replace(tzinfo=UTC)
    begun = time.perf_counter()
    month = simulate(
        asked.db, asked.turns, days=asked.days, seed=asked.seed, fault=asked.fault, hours=asked.hours,
        now_us=None if now is None else int(now.timestamp() * 1_000_000),
    )  # fmt: skip
    seconds, size = time.perf_counter() - begun, asked.db.stat().st_size
    totals = month.totals
    each = size / max(totals.turns, 1)
    print(
        f"{totals.turns} turns, {totals.events} events in {asked.db}: {size} bytes ({each:.0f} a turn), {seconds:.1f} s"
    )
    print(", ".join(f"{count} {outcome}" for outcome, count in totals.outcomes.most_common()))


if __name__ == "__main__":
    main()
