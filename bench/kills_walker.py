"""One process of `kills.py`: walks a turn, or recovers what it finds, and kills itself where it is told to.

    python bench/kills_walker.py FOLDER STORY NUMBER MEMORY PLACE:N walk|recover

The surface is a chat server that cannot be reached by two processes at once: it keeps its messages in the ledger,
remembers keys or not, and lets its history be read or not, as MEMORY says.
"""

import asyncio
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from phasewalk.machine.errors import DeliveryInDoubtError
from phasewalk.machine.speech import Speech
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.storage import writer
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.speech import OnePlace
from phasewalk.surfaces.wiring import application

TEXTS = {
    "plain": "hello there",
    "overheard": "hello there",
    "tool": "note: count",
    "two_parts": "hello in two parts",
}


@frozen
class Chat(OnePlace):
    """The chat server as the bot sees it."""

    folder: Path
    memory: str
    ledger: Any

    def parts(self, speech: Speech) -> tuple[Speech, ...]:
        return tuple(evolve(speech, text=text) for text in speech.text.split("\n\n"))

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:  # noqa: ARG002 - the port's signature
        self.ledger.point("before_send")
        if not (self.memory == "remembered" and self._stands(key)):
            self.ledger.write(f"message {key}")
        self.ledger.point("after_send")
        return f"chat:{key}"

    async def settle(self, speech: Speech, trigger: Trigger, key: str, intended_us: int) -> str:  # noqa: ARG002 - as above
        if self.memory == "unknown":
            raise DeliveryInDoubtError("the history cannot be read")
        if self.memory == "forgotten" and self._stands(key):
            return f"chat:{key}"
        return await self.send(speech, trigger, key)

    def _stands(self, key: str) -> bool:
        file = self.folder / "ledger.txt"
        return file.exists() and f"message {key}" in file.read_text().splitlines()


def watched(ledger: Any) -> None:
    """Come to a place before and after every commit."""
    whole = writer.Writer._transaction

    def transaction(self: writer.Writer, group: list[writer.Unit]) -> list[object]:
        ledger.point("before_commit")
        answers = whole(self, group)
        ledger.point("after_commit")
        return answers

    writer.Writer._transaction = transaction  # type: ignore[method-assign]


async def main() -> None:
    folder, story, number, memory, kill, what = Path(sys.argv[1]), *sys.argv[2:]
    os.environ["KILL"] = kill
    ledger = loaded(folder / "kills_tools.py")
    watched(ledger)
    chat = Chat(folder, memory, ledger)
    configuration = load_configuration(folder / "phasewalk.toml")
    async with application(configuration, folder / "log.db", chat, "bench", reached={"kill": chat}) as app:
        settled = await app.recovery.settle()
        if what == "recover" and any(one.left for one in settled):
            raise RuntimeError(f"left: {settled}")
        await app.run(
            Trigger(
                key=f"kill:{number}",
                kind=Kind.USER,
                text=TEXTS[story],
                channel_id="1",
                channel_name="general",
                user_id="7",
                user_name="ann",
                message_id="100",
                addressed=None if story == "overheard" else Addressed.DIRECT,
            )
        )


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("kills_ledger", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    asyncio.run(main())
