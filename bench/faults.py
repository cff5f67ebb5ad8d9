"""BAR-22: turns against a model provider that fails in every way there is; each must end well.

The whole application runs in this process, with the real client library, against a scripted server on loopback;
30 % of its answers are faults drawn at random. Afterwards the log is held against what was really asked, run and
heard. The same again with circuits that open, and with circuits that open and close quickly. Prints what the turns
met and how they ended; the status is 1 when anything was wrong.

    python bench/faults.py [--turns 1000] [--seed 22] [--api chat|responses] [--keep FOLDER]
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen
from fault_checks import ATTEMPTS, POST_EFFECT_DELAYS, ROUNDS, SAFETY_FALLS_BACK, outside, violations
from fault_script import Ears, Script, asked
from fault_steps import FAULTS
from fault_story import Story, ask, stories

from phasewalk.phases.providers import openai_link
from phasewalk.phases.providers.testing import ScriptedModelServer
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.wiring import Application, application

AT_ONCE = 16
KEY = "sk-fault-0123456789abcdef0123"
KEY_NAME = "FAULTS_KEY"
ENOUGH = 1000
"""With so many turns every fault must have come up."""

CONFIGURATION = """
[limits]
attempts = {attempts}
tool-rounds = {rounds}
backoff = 0.02
backoff-cap = 0.1
post-effect-delays = {delays}
turn = 8.0
model-call = 1.0
delivery-grace = 5.0

[tools]
modules = ["ledger_tools"]

[families.ledger]
nouns = ["ledger"]

[circuit]
failures = {failures}
window = 300.0
cooldown = {cooldown}
"""
MODELS = {
    "one": {"model": "one-a", "fallback-model": "one-b", "retry-model": "one-r"},
    "two": {"model": "two-a", "retry-model": "two-r"},
    "three": {"model": "three-a"},
}


@frozen
class Circuits:
    """How soon a failing provider is left alone in a run, and for how long; `share` of all turns walk in it."""

    name: str
    failures: int
    cooldown: float
    share: float


RUNS = (
    Circuits("circuits that never open", 1_000_000, 1800.0, 1.0),
    Circuits("circuits as by default", 3, 1800.0, 0.2),
    Circuits("circuits that close soon", 3, 0.3, 0.3),
)


@frozen
class Result:
    """One run: what was wrong, how turns ended, which faults were met with which end of the attempt."""

    circuits: Circuits
    turns: int
    seconds: float
    wrong: tuple[str, ...]
    outcomes: Counter[tuple[str, str]]
    faults: Counter[str]
    answers: int


def configure(folder: Path, base_url: str, api: str, circuits: Circuits) -> Path:
    """The configuration file of a run, with the tools beside it."""
    shutil.copy(Path(__file__).with_name("ledger_tools.py"), folder)
    numbers = CONFIGURATION.format(
        attempts=ATTEMPTS,
        rounds=ROUNDS,
        delays=list(POST_EFFECT_DELAYS),
        failures=circuits.failures,
        cooldown=circuits.cooldown,
    )
    path = folder / "phasewalk.toml"
    path.write_text(numbers + "".join(_provider(name, base_url, api) for name in MODELS), "utf-8")
    return path


def _provider(name: str, base_url: str, api: str) -> str:
    values = {"name": name, "api": api, "base-url": base_url, "api-key-env": KEY_NAME, **MODELS[name]}
    values["safety-block"] = "fall_back" if name in SAFETY_FALLS_BACK else "stop"
    return "\n[[providers]]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items())


async def run(folder: Path, *, seed: int, turns: int, api: str = "chat", circuits: Circuits = RUNS[0]) -> Result:
    """Walk the turns in this empty folder, and look at every one of them."""
    openai_link.__name__  # noqa: B018 - imported before the first call, whose time is limited
    script, ears, stray = Script(seed), Ears(), []
    database = folder / "faults.db"
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: stray.append(str(context["message"])))
    os.environ[KEY_NAME] = KEY
    started = time.perf_counter()
    async with ScriptedModelServer(script) as server:
        configuration = load_configuration(configure(folder, server.base_url, api, circuits))
        async with application(configuration, database, ears, "faults") as app:
            problems = await _walk(app, seed, turns)
    seconds = time.perf_counter() - started
    runs = list(sys.modules["phasewalk_tools_from_ledger_tools"].RUNS)
    told = list(stories(database, script, ears, runs))
    wrong = [
        *problems,
        *(f"left to the event loop: {message}" for message in stray),
        *(sentence for story in told for sentence in violations(story)),
        *outside(script, ears, {story.asked.number for story in told}),
        *whole_log(database, told, turns),
    ]
    outcomes = Counter((str(s.turn["outcome"]), str(s.turn["reason"])) for s in told)
    return Result(circuits, turns, seconds, tuple(wrong), outcomes, script.faults, sum(script.faults.values()))


async def _walk(app: Application, seed: int, turns: int) -> list[str]:
    """All turns, so many at once; what their runner says against it."""
    numbers = iter(range(turns))
    problems: list[str] = []

    async def lane() -> None:
        for number in numbers:
            message = asked(seed, number)
            limits = app.settings.limits
            if message.seconds is not None:
                limits = evolve(limits, turn=message.seconds)
            ended = await app.run(message.trigger, limits)
            if ended.turn is None or ended.known or ended.log_lost or ended.problem:
                problems.append(f"turn {number} came back as {ended!r}")

    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
    return problems


def whole_log(database: Path, told: Sequence[Story], turns: int) -> Iterator[str]:
    """What must hold of the log as a whole."""
    if len(told) != turns:
        yield f"{turns} turns were opened, and the log has {len(told)}"
    for (name,) in ask(database, "SELECT turn_id FROM silent_turns"):
        yield f"turn {name} stands in the view silent_turns"
    for name, phase in ask(database, "SELECT turn_id, phase FROM turn WHERE ended_us IS NULL"):
        yield f"turn {name} is open in {phase}"
    lost = ask(database, "SELECT rows_lost FROM log_coverage")[0][0]
    if lost:
        yield f"{lost} rows of the log were lost"
    counted = {str(reason) for (reason,) in ask(database, "SELECT DISTINCT reason FROM circuit_failure")}
    for reason in counted - COUNTED:
        yield f"a circuit counted {reason}"
    yield from _probes_apart(database)


COUNTED = {"timed_out", "connection_failed", "http_5xx", "http_4xx", "http_429", "no_choices", "malformed_response"} | {
    "empty_answer",
    "truncated",
    "envelope_invalid",
}


def _probes_apart(database: Path) -> Iterator[str]:
    """A half-open circuit lets one turn try, and no second beside it (FB-15)."""
    rows = ask(database, "SELECT provider, started_us, ended_us, turn_id FROM attempt WHERE cause = 'probe'")
    latest: dict[Any, Any] = {}
    for provider, started, ended, name in sorted(rows):
        if started < latest.get(provider, 0):
            yield f"turn {name} probed {provider} beside another probe"
        latest[provider] = ended


def table(results: Sequence[Result]) -> Iterator[str]:
    """The results as Markdown."""
    yield "| run | turns | s | answers of the model | faults | wrong |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for r in results:
        faults = r.answers - r.faults["none"]
        yield f"| {r.circuits.name} | {r.turns} | {r.seconds:.0f} | {r.answers} | {faults} | {len(r.wrong)} |"
    yield ""
    yield "| outcome | reason | " + " | ".join(r.circuits.name for r in results) + " |"
    yield "| --- | --- |" + " --- |" * len(results)
    ends = Counter(end for r in results for end in r.outcomes.elements())
    for end, _ in ends.most_common():
        yield f"| {end[0]} | {end[1]} | " + " | ".join(str(r.outcomes[end]) for r in results) + " |"
    yield ""
    yield "| fault | taken for | times |"
    yield "| --- | --- | --- |"
    for fault in FAULTS:
        times = sum(r.faults[fault.name] for r in results)
        yield f"| {fault.name} | {f'{fault.kind}: {fault.reason}' if fault.kind else 'usable'} | {times} |"


async def prove(folder: Path, seed: int, turns: int, api: str) -> list[Result]:
    """All runs, each in a folder of its own."""
    results = []
    for number, circuits in enumerate(RUNS, 1):
        place = folder / f"run-{number}"
        place.mkdir()
        share = max(1, round(turns * circuits.share))
        results.append(await run(place, seed=seed + number, turns=share, api=api, circuits=circuits))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description="Turns against a provider that fails in every way (BAR-22).")
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--api", choices=("chat", "responses"), default="chat")
    parser.add_argument("--keep", type=Path, help="an empty folder for the logs, which are else deleted")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        results = asyncio.run(prove(given.keep or Path(name), given.seed, given.turns, given.api))
    wrong = [f"{r.circuits.name}: {sentence}" for r in results for sentence in r.wrong]
    if given.turns >= ENOUGH:
        wrong += [f"the fault {f.name} never came up" for f in FAULTS if not any(r.faults[f.name] for r in results)]
    print(f"seed {given.seed}, api {given.api}\n\n" + "\n".join(table(results)))
    print(f"\n{len(wrong)} wrong" + "".join(f"\n- {sentence}" for sentence in wrong[:200]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
