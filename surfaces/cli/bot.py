"""`phasewalk bot`: the bot on Discord, until a signal ends it."""

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import click

from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.recover import places
from phasewalk.surfaces.cli.work import announce, configuration_and_database, run_work
from phasewalk.surfaces.portal import PORTAL, TOKEN

if TYPE_CHECKING:
    from phasewalk.surfaces.signals import Stopping
    from phasewalk.surfaces.wiring import Application


@click.command(
    epilog="\b\nExamples:\n  DISCORD_TOKEN=... phasewalk bot\n  phasewalk --config live.toml --db live.db bot\n\n"
    "\b\nExit codes: 0 ended by SIGTERM, 1 Discord could not be reached, 2 usage, configuration or token,\n4 the log cannot be used, 130 interrupted.",
)
@click.pass_obj
def command(obj: dict[str, Any]) -> None:
    """Run the bot on Discord; the token comes from DISCORD_TOKEN.

    The first Ctrl-C or SIGTERM lets running turns finish within the grace, the second ends at once.
    """
    configuration, database = configuration_and_database(obj)
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise CommandError(f"{TOKEN} is not set; it takes the bot's token, from {PORTAL} under 'Bot'", Exit.USAGE)

    from phasewalk.machine.deadlines import SystemClock
    from phasewalk.surfaces.background import Background
    from phasewalk.surfaces.discord.client import Client, point_from_environment
    from phasewalk.surfaces.discord.commands import Commands, Tree
    from phasewalk.surfaces.discord.forgetting import Forgetting
    from phasewalk.surfaces.discord.hearing import Hearing
    from phasewalk.surfaces.discord.session import logged_in, run_until
    from phasewalk.surfaces.discord.surface import DiscordSurface, on_discord
    from phasewalk.surfaces.idle import Idle
    from phasewalk.surfaces.scheduler import Scheduler
    from phasewalk.surfaces.signals import stop_on_signals
    from phasewalk.surfaces.wiring import application

    async def work() -> int | None:
        point_from_environment()
        section = configuration.discord
        async with logged_in(Client(message_content=section.message_content), token) as client:
            surface = DiscordSurface(client, SystemClock(), section.replies_per_minute)
            reached = {**places(), **on_discord(surface)}
            async with application(configuration, database, surface, "bot", reached=reached) as app:
                announce(configuration, app.backends)
                if not section.message_content:
                    _say("without message content only messages that speak to the bot have a text")
                with stop_on_signals(*app.runners, grace=app.settings.limits.delivery_grace) as stopping:
                    settling = asyncio.ensure_future(_settle(app, stopping))
                    await asyncio.wait({settling}, timeout=configuration.limits.max_wait)
                    hearing = Hearing(app, client, stopping, section, _say)
                    client.hearing = hearing
                    forgetting = Forgetting(database, app.log, _say)
                    tree = Tree(client, Commands(configuration, database, forgetting, _say), _say)

                    def ready() -> None:
                        tree.sync_soon()
                        _say(f"hearing as {client.user} in {_servers(len(client.guilds))}")

                    client.when_ready = ready
                    background = Background(app, stopping, lane=hearing.turn_in, say=_say)
                    scheduler, idle = Scheduler(background), Idle(background, configuration.idle)
                    async with background.at_work(scheduler.run(), idle.run()):
                        await run_until(client, stopping.wait)
                    await hearing.drain()
                    await settling
                return stopping.signal

    number = run_work(work)
    if number == signal.SIGINT:
        raise SystemExit(int(Exit.INTERRUPTED))


async def _settle(app: "Application", stopping: "Stopping") -> None:
    for left in [one for one in await app.recovery.settle(stopping) if one.left]:
        _say(f"{left.found.turn_id} was interrupted and is left as it is: {left.why}")


def _servers(count: int) -> str:
    return f"{count} server{'' if count == 1 else 's'}"


def _say(text: str) -> None:
    click.echo(f"phasewalk: {text}", err=True)
