"""What a long conversation costs in the file (LOG-12, BAR-05)."""

import random
import string

import pytest

from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.providers.testing import ScriptedModelServer, envelope
from phasewalk.surfaces.sections import Configuration
from phasewalk.surfaces.speech import LogSurface
from phasewalk.surfaces.wiring import application

TURNS = 200


def prose(numbers: random.Random, words: int) -> str:
    return " ".join("".join(numbers.choices(string.ascii_lowercase, k=numbers.randint(2, 9))) for _ in range(words))


@pytest.mark.spec("LOG-12", "BAR-05")
async def test_a_conversation_of_200_turns_stores_its_new_text_three_times_at_most(tmp_path, monkeypatch):
    numbers = random.Random(1)
    said: list[str] = []

    def answer(_request):
        said.append(prose(numbers, 60))
        return envelope(answer=said[-1])

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    sizes = []
    async with ScriptedModelServer(answer) as server:
        configuration = Configuration.model_validate(
            {"providers": [{"name": "one", "base-url": server.base_url, "model": "m"}]},
        )
        for turns in (1, TURNS):
            path = tmp_path / f"{turns}.db"
            async with application(configuration, path, LogSurface(), "test") as app:
                for number in range(turns):
                    said.append(prose(numbers, 40))
                    trigger = Trigger(
                        f"t:{number}", Kind.USER, said[-1], "1", "general", "2", "mira", addressed=Addressed.DIRECT
                    )
                    ended = await app.run(trigger)
                    assert ended.turn is not None
                    assert ended.turn.outcome == "answered"
                if turns == 1:
                    said.clear()
            sizes.append(path.stat().st_size)

    new_text = sum(len(text.encode()) for text in said)
    assert sizes[1] - sizes[0] <= 3 * new_text + 4096 * TURNS, (sizes, new_text)
