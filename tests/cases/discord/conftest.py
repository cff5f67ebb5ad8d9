"""The bot on a fake Discord; whatever a test leaves running is ended."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from live import Bot

from phasewalk.surfaces.discord_testing import FakeDiscord


@pytest.fixture
async def bot(workplace) -> AsyncIterator[Bot]:
    async with FakeDiscord() as fake:
        one = Bot(workplace, fake)
        try:
            yield one
        finally:
            if one.process is not None:
                one.process.kill()
                one.process.wait()
            pinging = fake.pinging()
    assert fake.unserved == [], "the bot asked for something that the fake does not serve"
    assert pinging == [], "a body left without saying who may be pinged"


@pytest.fixture
def small_export() -> Path:
    return Path(__file__).parents[3] / "examples" / "help-server.json"
