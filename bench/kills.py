"""Kills a real process at every commit and around every effect of a turn, and looks at its recovery (BAR-20).

    python bench/kills.py [--kills 300] [--seed 20]

A turn asks a scripted model server, runs a mutating tool, and speaks. Each process of it kills itself with SIGKILL
before or after the commit of a given number, or before, inside or after an effect; then another one recovers what it
finds, and may be killed as well. Tool and surface write down what really happened in a ledger of their own. Held
against it are: no effect twice, no turn without an end, no row lost that was committed, and nothing in doubt that could
have been found out.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

from attrs import define, field, frozen

from phasewalk.phases.providers.testing import Recorded, ScriptedModelServer, envelope, tool_calls
from phasewalk.phases.providers.testing_steps import Step

WALKER = Path(__file__).with_name("kills_walker.py")
STORIES = ("plain", "tool", "two_parts", "overheard")
AROUND = ("before_tool", "inside_tool", "before_send", "after_send")
MEMORIES = ("remembered", "forgotten", "unknown")
MOST_COMMITS = 26
ROUNDS = 8
"""So many processes may take a turn in hand; the last ones are left alive."""


@frozen
class Kill:
    """Where a process kills itself: at `place`, the `number`-th time that it comes there."""

    place: str
    number: int

    def __str__(self) -> str:
        return f"{self.place}:{self.number}"


@frozen
class Trial:
    """One turn: its story, the kills of its processes in order, and what its surface can tell afterwards."""

    number: int
    story: str
    kills: tuple[Kill, ...]
    memory: str


@define
class Result:
    """What came of all trials."""

    killed: Counter[str] = field(factory=Counter)
    outcomes: Counter[str] = field(factory=Counter)
    wrong: list[str] = field(factory=list)
    doubts: int = 0


def trials(count: int, seed: int) -> list[Trial]:
    """Every place first, then by chance; a third of the processes that recover are killed too."""
    chance = random.Random(seed)
    places = [Kill(place, number) for place in ("before_commit", "after_commit") for number in range(1, MOST_COMMITS)]
    places += [Kill(place, number) for place in AROUND for number in (1, 2)]
    made = []
    for number in range(count):
        first = places[number % len(places)]
        kills = [first]
        while chance.random() < 0.33 and len(kills) < 2:
            kills.append(chance.choice(places))
        story = STORIES[number // len(places) % len(STORIES)] if number < len(places) * 2 else chance.choice(STORIES)
        made.append(Trial(number, story, tuple(kills), chance.choice(MEMORIES)))
    return made


def answer(request: Recorded) -> Step:
    """The model: asks for the tool first where the story has one, then answers."""
    text = json.dumps(request.json)
    if "note: count" in text and '"role": "tool"' not in text:
        return tool_calls([("c1", "notes_count", {})])
    return envelope("First part.\n\nSecond part." if "two parts" in text else "Here is the answer.")


def configured(folder: Path, base_url: str) -> None:
    (folder / "phasewalk.toml").write_text(
        f'[[providers]]\nname = "one"\napi = "chat"\nbase-url = "{base_url}"\nmodel = "m"\napi-key-env = ""\n'
        '[limits]\nbackoff = 0.01\nclaims = 3\nturn = 20.0\n[tools]\nmodules = ["kills_tools"]\n'
    )
    (folder / "kills_tools.py").write_text(WALKER.with_name("kills_tools.py").read_text("utf-8"))


async def walked(folder: Path, trial: Trial, kill: Kill | None, *, recover: bool) -> int:
    """One process; its exit status, negative for a signal."""
    what = "recover" if recover else "walk"
    arguments = [str(folder), trial.story, str(trial.number), trial.memory, str(kill or "-"), what]
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(WALKER), *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, said = await asyncio.wait_for(process.communicate(), 60)
    status = process.returncode or 0
    if status not in (0, -signal.SIGKILL):
        raise RuntimeError(f"trial {trial}: the process ended with {status}: {said.decode()[-2000:]}")
    return status


def committed(database: Path) -> set[tuple[object, ...]]:
    """Every row that only appends, as far as it is committed."""
    if not database.exists():
        return set()
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as log:
        try:
            rows = log.execute("SELECT 'e', event_id, turn_id, seq, kind, phase FROM phase_event").fetchall()
            rows += log.execute("SELECT 'f', effect_event_id, effect_id, kind, '', '' FROM effect_event").fetchall()
        except sqlite3.OperationalError:  # killed before there was a schema
            return set()
        return set(rows)


async def tried(folder: Path, trial: Trial, result: Result) -> None:
    """One trial to its end, and the check of it."""
    database = folder / "log.db"
    kept: set[tuple[object, ...]] = set()
    for turn in range(ROUNDS):
        kill = trial.kills[turn] if turn < len(trial.kills) else None
        status = await walked(folder, trial, kill, recover=turn > 0)
        now = committed(database)
        if not kept <= now:
            result.wrong.append(f"{trial}: {len(kept - now)} committed rows are gone")
        kept = now
        if status == -signal.SIGKILL and kill is not None:
            result.killed[kill.place] += 1
        elif turn >= len(trial.kills):
            break
    check(folder, trial, result)


def check(folder: Path, trial: Trial, result: Result) -> None:
    """Hold the log against the ledger."""
    ledger = (folder / "ledger.txt").read_text().splitlines() if (folder / "ledger.txt").exists() else []
    happened = Counter(line.split()[0] for line in ledger)
    texts = Counter(line for line in ledger if line.startswith("message"))
    with closing(sqlite3.connect(f"file:{folder / 'log.db'}?mode=ro", uri=True)) as log:
        turns = log.execute("SELECT outcome, reason FROM turn").fetchall()
        states = log.execute("SELECT kind, state FROM effects").fetchall()
        sound = log.execute("PRAGMA integrity_check").fetchone()[0]
    problems = []
    if sound != "ok":
        problems.append(f"integrity: {sound}")
    if len(turns) != 1:
        problems.append(f"{len(turns)} turns")
    if any(outcome is None for outcome, _ in turns):
        problems.append("a turn without an end")
    if happened["tool"] > 1:
        problems.append(f"the tool ran {happened['tool']} times")
    problems += [f"said {count} times: {line}" for line, count in texts.items() if count > 1]
    done = sum(state == "done" and kind != "tool" for kind, state in states)
    open_speech = sum(state != "done" and kind != "tool" for kind, state in states)
    if not done <= len(texts) <= done + open_speech:
        problems.append(f"{len(texts)} messages stand, {done} receipts, {open_speech} without")
    if open_speech and trial.memory != "unknown":
        problems.append("a message in doubt that could have been found out")
    if trial.story != "overheard" and not texts and not open_speech:
        problems.append("who spoke to the bot heard nothing")
    result.doubts += sum(state == "in_doubt" for _, state in states)
    result.outcomes.update(str(outcome) for outcome, _ in turns)
    named = f"trial {trial.number} ({trial.story}, {', '.join(map(str, trial.kills))}, {trial.memory})"
    result.wrong += [f"{named}: {problem}; {turns}, {states}" for problem in problems]


async def run(folder: Path, *, kills: int, seed: int, together: int = 2) -> Result:
    """Trials until so many processes were killed."""
    result, gate = Result(), asyncio.Semaphore(together)
    async with ScriptedModelServer(answer) as server:

        async def one(trial: Trial) -> None:
            async with gate:
                if sum(result.killed.values()) >= kills:
                    return
                place = folder / str(trial.number)
                place.mkdir()
                configured(place, server.base_url)
                await tried(place, trial, result)

        await asyncio.gather(*(one(trial) for trial in trials(kills * 2, seed)))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=20)
    asked = parser.parse_args()
    os.environ.pop("OPENAI_API_KEY", None)
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(run(Path(folder), kills=asked.kills, seed=asked.seed))
    print(f"{sum(result.killed.values())} kills; in doubt {result.doubts}; wrong {len(result.wrong)}")
    print("by place: " + ", ".join(f"{place} {count}" for place, count in sorted(result.killed.items())))
    print("outcomes: " + ", ".join(f"{outcome} {count}" for outcome, count in result.outcomes.most_common()))
    for line in result.wrong[:20]:
        print("  " + line)
    raise SystemExit(bool(result.wrong))


if __name__ == "__main__":
    main()
