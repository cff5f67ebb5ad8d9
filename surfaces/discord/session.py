"""A client's session: logged in, connected, and closed again; what goes wrong is told in one sentence.

Owns the login and the gateway's task. Knows no turn.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import aiohttp
import discord

from phasewalk.machine.errors import ConfigurationError, PhasewalkError
from phasewalk.machine.text import told
from phasewalk.surfaces.discord.client import Client
from phasewalk.surfaces.portal import PORTAL


@asynccontextmanager
async def logged_in(client: Client, token: str) -> AsyncIterator[Client]:
    """Within this block the client can speak over REST.

    Raises `ConfigurationError` where Discord does not know the token, `PhasewalkError` where it cannot be reached.
    """
    async with client:
        with _sentences():
            await client.login(token)
        yield client


async def run_until(client: Client, asked: Callable[[], Awaitable[None]]) -> None:
    """Hear what comes in until `asked` returns; the client can still speak afterwards.

    Raises as `logged_in` does where the gateway ends by itself.
    """
    gateway = asyncio.ensure_future(client.connect(reconnect=True))
    waiting = asyncio.ensure_future(asked())
    await asyncio.wait({gateway, waiting}, return_when=asyncio.FIRST_COMPLETED)
    client.hearing = None  # nothing new begins
    try:
        if gateway.done():
            with _sentences():
                gateway.result()
            if not waiting.done():
                raise PhasewalkError("the connection to Discord ended")
    finally:
        for task in (gateway, waiting):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


@contextmanager
def _sentences() -> Iterator[None]:
    """Within this block the library's errors become sentences."""
    try:
        yield
    except discord.LoginFailure as error:
        raise ConfigurationError(
            f"Discord does not know the token in DISCORD_TOKEN; a new one can be made at {PORTAL} under 'Bot'"
        ) from error
    except discord.PrivilegedIntentsRequired as error:
        raise ConfigurationError(
            f"the bot may not read messages: switch on 'Message Content Intent' at {PORTAL} under 'Bot',"
            " or set message-content = false under [discord]"
        ) from error
    except (discord.DiscordException, aiohttp.ClientError, OSError) as error:
        raise PhasewalkError(told(f"Discord cannot be reached: {type(error).__name__}: {error}")) from error
