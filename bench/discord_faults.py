"""A real bot on a fake Discord that fails in every way, and whether each question is answered once (BAR-23).

    python bench/discord_faults.py [--questions 300] [--seed 23]

A third of the requests that speak meet a fault: rate limits with and without `Via`, 5xx, resets, late answers, before
or after they took effect. Meanwhile events are told twice, and sessions dropped, told to reconnect and declared
invalid. Held against it: each question has one turn and one answer, whose parts stand in order, and nobody was pinged.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from attrs import define, field

from phasewalk.phases.providers.testing import Recorded, ScriptedModelServer, envelope
from phasewalk.phases.providers.testing_steps import Reply
from phasewalk.surfaces.discord_testing import FakeDiscord
from phasewalk.surfaces.discord_testing.faults import Fault, delay, rate_limited, reset, status

CHANNELS = 25
LONGEST = 240.0
FILLER = "word " * 250


@define
class Result:
    """What came of it."""

    faults: Counter[str] = field(factory=Counter)
    wrong: list[str] = field(factory=list)
    seconds: float = 0.0


def answer(request: Recorded) -> Reply:
    """Two parts for every third question, one for the others; each names the question."""
    number = json.loads(request.json["messages"][-1]["content"])["message"]["text"].split()[-1].rstrip("?")
    long = int(number) % 3 == 0
    return envelope(f"{number} first {FILLER}\n\n{number} second {FILLER}" if long else f"{number} first")


def fault_by(chance: random.Random) -> tuple[str, Fault]:
    """A fault and its name."""
    kinds = {
        "rate limit": rate_limited(0.3),
        "rate limit without Via": rate_limited(0.3, via=False),
        "500": status(500),
        "503": status(503),
        "reset": reset(),
        "late": delay(0.5),
    }
    name = chance.choice(list(kinds))
    after = name not in ("rate limit", "rate limit without Via") and chance.random() < 0.5
    return (f"{name} afterwards", kinds[name].afterwards()) if after else (name, kinds[name])


async def run(folder: Path, *, questions: int, seed: int) -> Result:
    """So many questions, 100 at once at most."""
    chance, result, began = random.Random(seed), Result(), time.monotonic()
    async with FakeDiscord() as fake, ScriptedModelServer(answer) as server:
        channels = [fake.world.add_channel(f"room-{number}") for number in range(CHANNELS)]
        (folder / "phasewalk.toml").write_text(
            f'[[providers]]\nname = "one"\nbase-url = "{server.base_url}"\nmodel = "m"\napi-key-env = ""\n'
            "[discord]\nreplies-per-minute = 1000\n"
            "[limits]\nrunning = 100\nqueued = 1000\npending-per-user = 1000\nmax-wait = 200.0\n"
        )
        with (folder / "bot.err").open("w") as errors:
            process = subprocess.Popen(  # noqa: ASYNC220 - the fork is over in milliseconds
                [sys.executable, "-m", "phasewalk.surfaces.cli", "bot"],
                cwd=folder,
                env={**os.environ, **fake.environment},
                stderr=errors,
            )
        try:
            await fake.gateway.ready(seconds=30)
            for number in range(questions):
                if chance.random() < 0.4:
                    name, fault = fault_by(chance)
                    result.faults[name] += 1
                    fake.faults.add("POST", "/channels/*/messages", fault)
                fake.world.say(channels[number % CHANNELS], "ann", f"question {number}?", mention_bot=True)
                _disturb(fake, chance, result)
                await asyncio.sleep(0.02)
            end = time.monotonic() + LONGEST
            due = questions + (questions + 2) // 3
            while len(_answers(fake)) < due and time.monotonic() < end:  # noqa: ASYNC110 - seen, not told
                await asyncio.sleep(0.1)
            await asyncio.sleep(1.0)
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 60)
        _check(fake, questions, result)
    result.seconds = time.monotonic() - began
    return result


def _disturb(fake: FakeDiscord, chance: random.Random, result: Result) -> None:
    """Now and then the gateway misbehaves."""
    lot = chance.random()
    if lot < 0.1:
        fake.gateway.again("MESSAGE_CREATE")
        result.faults["told twice"] += 1
    elif lot < 0.12:
        fake.gateway.drop()
        result.faults["dropped"] += 1
    elif lot < 0.13:
        fake.gateway.reconnect()
        result.faults["reconnect"] += 1
    elif lot < 0.14:
        fake.gateway.invalidate()
        result.faults["invalid session"] += 1


def _answers(fake: FakeDiscord) -> list[str]:
    return [" ".join(message.content.split()[:2]) for message in fake.world.said()]


def _check(fake: FakeDiscord, questions: int, result: Result) -> None:
    due = Counter(f"{number} first" for number in range(questions))
    due += Counter(f"{number} second" for number in range(0, questions, 3))
    said = _answers(fake)
    found = Counter(said)
    result.wrong += [f"said {found[text]} times: {text}" for text in sorted(due | found) if found[text] != due[text]]
    for number in range(0, questions, 3):
        parts = [text for text in said if text.split()[0] == str(number)]
        if parts != sorted(parts):
            result.wrong.append(f"parts of {number} in this order: {parts}")
    if fake.pinging():
        result.wrong.append("a body left without saying who may be pinged")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=23)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(run(Path(folder), questions=given.questions, seed=given.seed))
    print(f"{given.questions} questions in {result.seconds:.0f} s, {sum(result.faults.values())} faults:")
    print("  " + ", ".join(f"{count} {name}" for name, count in sorted(result.faults.items())))
    print("\n".join(result.wrong) or "each question answered once, parts in order")
    raise SystemExit(1 if result.wrong else 0)


if __name__ == "__main__":
    main()
