"""A fake Discord with a small world, and real clients that talk to it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from discord_clients import Listener, connected

from phasewalk.surfaces.discord_testing import FakeDiscord


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as served:
        yield served


@pytest.fixture
async def connect(fake: FakeDiscord) -> AsyncIterator[Callable[..., Awaitable[Listener]]]:
    """Connects a client to the fake and waits until it is ready."""
    async with AsyncExitStack() as stack:

        async def one(client: Listener | None = None) -> Listener:
            return await stack.enter_async_context(connected(fake, client or Listener()))

        yield one
