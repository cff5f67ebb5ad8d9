"""BAR-06: how long a person waits for the commands that look into a large log, as whole processes on a warm cache.

    python bench/reading.py MONTH.db [SMALL.db] [--rounds 5]

`MONTH.db` is made by `simulate.py`; `SMALL.db`, a month of 1,000 turns, is made beside it when none is named. All are
run in turn, round by round, beside `python -c pass`; medians, and ratios of medians, are printed as a Markdown table.
"""

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from simulate import simulate

from phasewalk.surfaces.cli.main import COMMANDS

PHASEWALK = (sys.executable, "-m", "phasewalk.surfaces.cli")
PASS = (sys.executable, "-c", "pass")
ASKED = (
    ("status",), ("stuck",), ("why", "TURN"), ("why", "last"), ("show", "TURN"), ("show", "last"),
    ("list", "--limit", "50"), ("list", "--outcome", "undelivered", "--limit", "50"), ("list", "--user", "nobody"),
    ("fallback",), ("circuit",), ("stats",), ("search", "copper lantern"),
)  # fmt: skip
RUNS = tuple(command for command in ASKED if command[0] in COMMANDS)
"""BAR-06 speaks of `status`, `stuck`, `why`, `show` and `list --limit 50`; the others are measured beside them."""
SECONDS, TIMES, GROWTH = 0.4, 12.0, 2.0
NAMED = ("status", "stuck", "why", "show", "list --limit 50")
GROWTH_OF = ("stuck", "show TURN", "show last")
"""The commands that must be near flat: at most twice what they take on the small file."""


def seconds(command: tuple[str, ...]) -> float:
    """One run as a whole process; a status that tells of a condition is no failure."""
    begun = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, env=_ENVIRONMENT)
    if done.returncode not in (0, 1, 4) or b"Traceback" in done.stderr:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return time.perf_counter() - begun


_ENVIRONMENT = {**os.environ, "TZ": "UTC", "NO_COLOR": "1"}


def runs_of(database: Path) -> dict[str, tuple[str, ...]]:
    """Each command on this file, by its name; TURN is one from its middle."""
    log = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)
    low, high = log.execute("SELECT min(turn_id), max(turn_id) FROM turn").fetchone()
    middle = low[:3] + chr((ord(low[3]) + ord(high[3])) // 2)
    turn = log.execute("SELECT turn_id FROM turn WHERE turn_id >= ? AND attempts > 0 LIMIT 1", (middle,)).fetchone()[0]
    log.close()
    return {
        " ".join(command): (*PHASEWALK, "--db", str(database), *(turn if part == "TURN" else part for part in command))
        for command in RUNS
    }


def turns_of(database: Path) -> int:
    log = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)
    count = log.execute("SELECT count(*) FROM turn").fetchone()[0]
    log.close()
    return int(count)


def measure(large: Path, small: Path, rounds: int) -> None:
    """Run everything in turn and print the table."""
    sets = {"large": runs_of(large), "small": runs_of(small)}
    taken: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 1):  # the first round warms the cache
        nothing = seconds(PASS)
        for name in sets["large"]:
            for size, runs in sets.items():
                taken.setdefault((size, name), []).append(seconds(runs[name]))
        taken.setdefault(("", "pass"), []).append(nothing)
        if number == 0:
            taken.clear()
    medians = {key: statistics.median(values) for key, values in taken.items()}
    nothing = medians["", "pass"]
    bars = f"bars: {SECONDS} s, x{TIMES:g}, growth x{GROWTH:g}"
    print(f"`python -c pass`: {nothing * 1000:.0f} ms; medians of {rounds} rounds; {bars}\n")
    print(f"| command | {turns_of(large):,} turns | x pass | {turns_of(small):,} turns | growth | within the bars |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in sets["large"]:
        ours, base = medians["large", name], medians["small", name]
        well = ours < SECONDS and ours <= TIMES * nothing and (name not in GROWTH_OF or ours <= GROWTH * base)
        told = f"{ours * 1000:.0f} ms | {ours / nothing:.1f} | {base * 1000:.0f} ms | {ours / base:.2f}"
        named = name.startswith(NAMED)
        print(f"| `{name}` | {told} | {('yes' if well else 'NO') if named else 'no bar'} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("large", type=Path)
    parser.add_argument("small", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if asked.small is not None:
        measure(asked.large, asked.small, asked.rounds)
        return
    with tempfile.TemporaryDirectory(dir=asked.large.absolute().parent) as folder:
        small = Path(folder) / "small.db"
        simulate(small, 1000)
        measure(asked.large, small, asked.rounds)


if __name__ == "__main__":
    main()
