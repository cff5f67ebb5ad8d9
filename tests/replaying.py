"""Turns walked on scripted servers and walked again without them, for tests of `phasewalk replay`."""

import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from attrs import evolve
from click.testing import CliRunner

from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, tool_calls
from phasewalk.storage.search import prepare
from phasewalk.surfaces.cli.main import main
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.speech import LogSurface
from phasewalk.surfaces.wiring import application

TOOLS = """
import asyncio
from pathlib import Path

HERE = Path(__file__).parent

@tool(family="notes", effect="mutating")
async def notes_count(amount: int = 1) -> dict:
    "Count up."
    with (HERE / "count.txt").open("a") as file:
        file.write("x")
    return {"counted": amount}

@tool(family="notes", effect="read_only")
async def notes_look() -> dict:
    "Look at the count."
    with (HERE / "count.txt").open("a") as file:
        file.write("l")
    return {"count": 7}

@tool(family="notes", effect="read_only")
async def notes_slow() -> str:
    "Wait."
    with (HERE / "count.txt").open("a") as file:
        file.write("s")
    await asyncio.sleep(60)
    return ""

@tool(family="notes", effect="read_only", timeout=0.3)
async def notes_hang() -> str:
    "Wait, but not for long."
    await asyncio.sleep(60)
    return ""

@tool(family="notes", effect="mutating", timeout=0.2)
def notes_stubborn() -> str:
    "Go on although it is given up."
    import time
    time.sleep(0.6)
    return "late"

@tool(family="notes", effect="read_only")
async def notes_break() -> str:
    "Fail."
    raise RuntimeError("it broke")

@tool(family="notes", effect="mutating", approval=True)
async def notes_seal() -> str:
    "Needs a permission."
    return "sealed"
"""
COUNT = tool_calls([("a", "notes_count", {})])
LOOK = tool_calls([("a", "notes_look", {})])


class Answer(NamedTuple):
    """What the command said."""

    status: int
    out: str
    err: str


class Place:
    """A workplace whose turns are walked on two scripted servers, and walked again without them."""

    def __init__(self, workplace):
        self.workplace = workplace
        workplace.tools(TOOLS)
        self.extra = '[tools]\nmodules = ["my_tools"]\n'
        self.limits = {}
        self.turns = 0

    async def walk(self, *said: str | tuple[str, dict], first, second=()) -> None:
        """Turns from these texts, with fields of their trigger; `first` answers for provider `one`, `second` for `two`."""
        async with (
            ScriptedModelServer(first if callable(first) else list(first), repeat_last=True) as one,
            ScriptedModelServer(list(second) or [envelope("from two")], repeat_last=True) as two,
        ):
            self.urls = (one.base_url, two.base_url) if second else (one.base_url,)
            self.configure()
            configuration = load_configuration(self.workplace.folder / "phasewalk.toml")
            async with application(configuration, self.workplace.database, LogSurface(), "test") as app:
                for text in said:
                    await self._turn(app, *(text if isinstance(text, tuple) else (text, {})))

    async def _turn(self, app, text: str, fields: dict) -> None:
        given = {"channel_id": "1", "channel_name": "general", "addressed": Addressed.DIRECT, **fields}
        seconds = given.pop("seconds", app.settings.limits.turn)
        self.turns += 1
        trigger = Trigger(f"t:{self.turns}", Kind.USER, text, user_id="7", user_name="mira", **given)
        ended = await app.run(trigger, evolve(app.settings.limits, turn=seconds))
        assert not ended.known
        assert not ended.problem

    def configure(self, change=str, extra: str = "", **limits: object) -> None:
        """Write the configuration, changed by `change`."""
        self.workplace.model(*self.urls, extra=self.extra + extra, **{**self.limits, **limits})
        file = self.workplace.folder / "phasewalk.toml"
        file.write_text(change(file.read_text()))

    def look(self, *arguments: str) -> "Answer":
        """`phasewalk replay` in this process, on a thread of its own: a replay has its own event loop."""
        config = str(self.workplace.folder / "phasewalk.toml")
        key = os.environ.pop("KEY", None)  # no key is needed
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(CliRunner().invoke, main, ["--config", config, "replay", *arguments]).result()
        if key is not None:
            os.environ["KEY"] = key
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Answer(done.exit_code, done.stdout, done.stderr)

    def replay(self, *names: str) -> list[dict]:
        """What `replay --json` says of these turns, by default of the last."""
        answer = self.look(*(names or ("last",)), "--json")
        assert answer.out, answer.err
        items = json.loads(answer.out)["items"]
        words = {item["verdict"] for item in items}
        assert answer.status == (1 if "differs" in words else 5 if "untold" in words else 0), answer.err
        return items

    def all(self) -> list[dict]:
        """Every turn of the log, walked again."""
        return self.replay(*(name for (name,) in self.workplace.rows("SELECT turn_id FROM turn ORDER BY turn_id")))

    def outcomes(self) -> list[tuple]:
        return self.workplace.rows("SELECT outcome, reason FROM turn ORDER BY turn_id")

    def ran(self) -> str:
        file = self.workplace.folder / "count.txt"
        return file.read_text() if file.exists() else ""

    def change(self, sql: str, *values: object) -> None:
        """Change the log by hand."""
        log = sqlite3.connect(self.workplace.database)
        prepare(log)
        with log:
            log.execute(sql, values)
        log.close()


def is_same(item: dict) -> bool:
    assert (item["differences"], item["untold"], item["stopped"]) == ([], [], None)
    return item["verdict"] == "same" and item["compared"] == item["visits"] > 0


def first(item: dict) -> tuple:
    """Where the first difference is, and both its values."""
    assert item["verdict"] == "differs", item
    found = item["differences"][0]
    return found["phase"], found["section"], found["recorded"], found["today"]
