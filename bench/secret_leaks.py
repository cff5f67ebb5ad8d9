"""BAR-26: secrets are planted wherever text comes in; none may stand in the log, in a request or in what is printed.

The whole application runs in this process, with the real client library, against a scripted server on loopback and a
real file. Afterwards every byte is searched for every secret (LOG-10). What does not look like a secret, a canary,
must be found, or the search is blind. Prints where what was found; the status is 1 when anything was wrong.

    python bench/secret_leaks.py [--turns 200] [--seed 26] [--api chat|responses] [--keep FOLDER]

It is not called `secrets.py`: beside the other programs that would take the place of Python's own module.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen
from secret_search import (
    REQUESTS,
    SOUGHT,
    SURFACE,
    Found,
    look_at_commands,
    look_at_files,
    look_at_payloads,
    look_at_world,
    spoken,
)
from secret_shapes import ANYWHERE, CANARY, SHAPES, Mint, Secret
from secret_story import CHANNELS, MODEL, NEWS, PLACES, WORDS, World, asked

from phasewalk.phases.providers import openai_link
from phasewalk.phases.providers.testing import Recorded, ScriptedModelServer
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.wiring import Application, application

AT_ONCE = 8
ALLOWED = {
    (WORDS, REQUESTS): "ENV-31, BAR-26: the person's own current message goes to the model as it is",
    ("note kept offline", REQUESTS): "the same: here the person's words are what is to be kept",
    ("answer", SURFACE): "what a model answers is said as it is: LOG-10 speaks of the log and of models",
    ("staff note", SURFACE): "the same, and ENV-03: a staff note is delivered unchanged",
    ("note on an attack", SURFACE): "the same: staff are told by whom",
    ("name of a channel", SURFACE): "the same: staff are told where",
    ("picture", SURFACE): "the same: what the picture shows",
}
"""What may be found where, and why."""

UNHEARD = {
    ("doubt of the surface", "chat"),
    ("doubt of the surface", "responses"),
    ("reasoning beside a call", "chat"),
    ("finish reason", "responses"),
    ("headers of an error", "chat"),
    ("headers of an error", "responses"),
}
"""Places and APIs whose canary need not be found: the text is kept nowhere, or the API has no such thing."""

CONFIGURATION = """
[bot]
staff-channel = "staff"
news-file = "news.txt"
summary-after = 4
history-limit = 60
history-per-channel = 4

[limits]
attempts = 3
backoff = 0.01
backoff-cap = 0.02
post-effect-delays = [0.01, 0.02]
turn = 30.0
model-call = 10.0

[tools]
modules = ["secret_tools"]

[families.vault]
nouns = ["vault"]

[circuit]
failures = 1000000
"""


@frozen
class Result:
    """One run: what was found where, how turns ended, and what went wrong beside leaks."""

    api: str
    mint: Mint
    found: Found
    world: World
    turns: int
    requests: int
    outcomes: Counter[str]
    wrong: tuple[str, ...]
    walked: float
    searched: float

    @property
    def leaks(self) -> list[tuple[str, Secret]]:
        """What stands where it must not."""
        return [at for at in self.found.times if at[1].shape != CANARY and (at[1].place, at[0]) not in ALLOWED]

    @property
    def blind(self) -> list[str]:
        """The places at which the canary was planted and never found."""
        planted = {place for place, shape in self.mint.planted if shape == CANARY}
        seen = {secret.place for _, secret in self.found.times if secret.shape == CANARY}
        return sorted(place for place in planted - seen if (place, self.api) not in UNHEARD)


def configure(folder: Path, base_url: str, api: str, mint: Mint) -> Path:
    """The configuration file of a run, with tools and news beside it, and secrets in the names of models."""
    mint.configure(PLACES)
    shutil.copy(Path(__file__).with_name("secret_tools.py"), folder)
    news = "\n".join(mint.text(NEWS) for _ in range(len(SHAPES) + 9))
    (folder / "news.txt").write_text(news, "utf-8")
    named = ", ".join(f'"{name}"' for name in mint.environment)
    text = f"{CONFIGURATION}\n[policy]\nsecrets-env = [{named}]\n"
    for name in ("one", "two"):
        values = {"name": name, "api": api, "base-url": base_url, "api-key-env": "SECRETS_RUN_KEY"} | _models(mint)
        text += "\n[[providers]]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items())
    path = folder / "phasewalk.toml"
    path.write_text(f'{text}\n[[providers]]\nname = "rules"\napi = "rules"\n', "utf-8")
    return path


def _models(mint: Mint) -> dict[str, str]:
    """Models by the keys under which they are configured, each with a secret; the first time one is a canary."""
    names = {}
    for key in ("model", "fallback-model", "retry-model", "vision-model", "factual-model", "image-model"):
        shape = CANARY if not mint.planted[MODEL, CANARY] else "key of a model provider"
        mint.planted[MODEL, shape] += 1
        names[key] = SHAPES[shape](mint.secret(MODEL, shape).core)
    return names


async def run(folder: Path, *, seed: int, turns: int, api: str = "chat") -> Result:
    """Walk the turns in this empty folder, and search."""
    openai_link.__name__  # noqa: B018 - imported before the first call, whose time is limited
    mint = Mint(seed, frozenset(place for place, _ in ALLOWED))
    database, started = folder / "log.db", time.perf_counter()
    world, found, before = World(mint), Found(mint), dict(os.environ)
    try:
        async with ScriptedModelServer(world) as server:
            configuration = load_configuration(configure(folder, server.base_url, api, mint))
            async with application(configuration, database, world, "secrets") as app:
                outcomes, wrong = await _walk(app, world, turns)
                look_at_files(found, database)  # now, since the WAL goes when the log is closed
            requests: list[Recorded] = server.requests
    finally:
        os.environ.clear()
        os.environ.update(before)
    walked = time.perf_counter()
    look_at_files(found, database)
    look_at_payloads(found, database)
    look_at_world(found, world, requests)
    wrong += await asyncio.to_thread(look_at_commands, found, database)
    seconds = walked - started, time.perf_counter() - walked
    return Result(api, mint, found, world, turns, len(requests), outcomes, tuple(wrong), *seconds)


async def _walk(app: Application, world: World, turns: int) -> tuple[Counter[str], list[str]]:
    """All turns, some at once, and the summaries that come due; how they ended, and what was wrong with it."""
    said = sys.modules["phasewalk_tools_from_secret_tools"].SAID
    numbers, outcomes, wrong = iter(range(turns)), Counter[str](), list[str]()

    async def lane() -> None:
        for number in numbers:
            world.turns[number] = asked(world.mint, number, said, app.settings.redact)
            ended = await app.run(world.turns[number].trigger)
            if ended.turn is None or ended.known or ended.log_lost:
                wrong.append(f"turn {number} came back as {ended!r}")
            else:
                outcomes[f"{ended.turn.outcome}: {ended.turn.reason}"] += 1

    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
    for number in range(CHANNELS):
        await app.sum_up(str(number), "general")
    await asyncio.sleep(0.3)  # a tool that was given up ends, and is logged, after its turn
    return outcomes, wrong


def table(result: Result) -> Iterator[str]:
    """What was found, as Markdown, by places; how many secrets were found there, not how often."""
    counts = Counter((secret.place, where) for where, secret in result.found.times if secret.shape != CANARY)
    canaries = Counter(secret.place for _, secret in result.found.times if secret.shape == CANARY)
    yield f"| planted in | secrets | found in: {' | '.join(SOUGHT)} | canary |"
    yield f"| --- | --- | {' | '.join('---' for _ in SOUGHT)} | --- |"
    for place in (*PLACES, ANYWHERE):
        planted = sum(n for (where, shape), n in result.mint.planted.items() if where == place and shape != CANARY)
        cells = [_cell(place, where, counts[place, where]) for where in SOUGHT]
        seen = "" if (place, CANARY) not in result.mint.planted else "seen" if canaries[place] else "not seen"
        yield f"| {place} | {planted} | {' | '.join(cells)} | {seen} |"
    yield "\nIn brackets: allowed."
    yield from (f"- {place}, {where}: {why}" for (place, where), why in ALLOWED.items())


def _cell(place: str, where: str, count: int) -> str:
    if not count:
        return "-"
    return f"({count})" if (place, where) in ALLOWED else f"**{count}**"


def leaks(result: Result) -> Iterator[str]:
    """Every leak by place, with its shapes and the first text in which one stood."""
    grouped: dict[tuple[str, str], list[tuple[str, Secret]]] = {}
    for at in result.leaks:
        grouped.setdefault((at[1].place, at[0]), []).append(at)
    if grouped:
        yield "| planted in | found in | shapes | one stands there as |"
        yield "| --- | --- | --- | --- |"
    for (place, where), found in sorted(grouped.items()):
        shown = result.found.seen[found[0]].replace("|", "\\|").replace("`", "'")
        shapes = sorted({secret.shape for _, secret in found})
        yield f"| {place} | {where} | {', '.join(shapes)} | `{shown}` |"


def report(result: Result) -> Iterator[str]:
    """Everything there is to say of a run."""
    yield from table(result)
    yield ""
    yield from leaks(result)
    total = sum(n for (place, shape), n in result.mint.planted.items() if shape != CANARY and place != ANYWHERE)
    leaked, heard = len({secret for _, secret in result.leaks}), dict(spoken(result.world.heard))
    yield f"\n{result.turns} turns in {result.walked:.1f} s, searched in {result.searched:.1f} s"
    yield f"{result.requests} requests, {result.world.summaries} summaries, heard {heard}"
    yield f"ends: {dict(result.outcomes)}"
    yield f"{total} secrets planted, {leaked} found where none may be; blind at {result.blind or 'no place'}"
    yield from (f"- {sentence}" for sentence in result.wrong[:50])


def is_well(result: Result) -> bool:
    """Nothing leaked, and the search would have seen it."""
    return not (result.leaks or result.blind or result.wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description="Secrets planted wherever text comes in (BAR-26).")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--api", choices=("chat", "responses"), default="chat")
    parser.add_argument("--keep", type=Path, help="an empty folder for the log, which is else deleted")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = given.keep or Path(name)
        result = asyncio.run(run(place, seed=given.seed, turns=given.turns, api=given.api))
    print(f"seed {given.seed}, api {given.api}\n\n" + "\n".join(report(result)))
    return 0 if is_well(result) else 1


if __name__ == "__main__":
    sys.exit(main())
