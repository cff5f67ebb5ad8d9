"""Points discord.py at a fake Discord.

Owns the two addresses that the library keeps. Knows no world. Invariant: outside the `with` the library's own
addresses stand again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route


class Addressed(Protocol):
    """Whatever has the two addresses: a `FakeDiscord`, or a `Remote`."""

    @property
    def api(self) -> str:
        """Such as `http://127.0.0.1:9000/api/v10`."""

    @property
    def gateway_url(self) -> str:
        """Such as `ws://127.0.0.1:9000/gw/`."""


@contextmanager
def pointed_at(fake: Addressed) -> Iterator[None]:
    """Have every client that is made inside talk to the fake; it has to end inside too."""
    before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY
    Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = fake.api, yarl.URL(fake.gateway_url)
    try:
        yield
    finally:
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = before
