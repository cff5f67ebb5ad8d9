"""`phasewalk chat`: a conversation from the terminal, one turn a line, until Ctrl-D."""

import asyncio
import os
import sys
import threading
from typing import Any

import click

from phasewalk.machine.words import Addressed
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.turn import console_trigger, report, shown
from phasewalk.surfaces.cli.work import announce, configuration_and_database, run_work
from phasewalk.surfaces.signals import Stopping, stop_on_signals
from phasewalk.surfaces.speech import ConsoleSurface, LogSurface
from phasewalk.surfaces.wiring import Application, application

PROMPT = "> "
CHUNK = 65_536


@click.command(
    epilog="\b\nExamples:\n  phasewalk chat\n  phasewalk chat --user mira --channel help\n\n"
    "\b\nExit codes: 0 ended by Ctrl-D, 2 usage or configuration, 4 the log cannot be used,\n130 interrupted.",
)
@click.option("--channel", default="console", show_default=True, help="Name of the channel it is said in.")
@click.option("--user", default="operator", show_default=True, help="Name of the person who speaks.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a turn.")
@click.pass_obj
def command(obj: dict[str, Any], /, channel: str, user: str, as_json: bool) -> None:
    """Talk to the bot: each line is a turn of its own in one conversation; empty lines are passed over."""
    configuration, database = configuration_and_database(obj)

    async def work() -> int:
        surface = LogSurface() if as_json else ConsoleSurface(shown)
        async with application(configuration, database, surface, "chat") as app:
            announce(configuration, app.backends)
            with stop_on_signals(*app.runners) as stopping:
                await _talk(app, stopping, channel, user, as_json=as_json)
            return int(Exit.INTERRUPTED) if stopping else int(Exit.OK)

    status = run_work(work)
    if status:
        raise SystemExit(status)


async def _talk(app: Application, stopping: Stopping, channel: str, user: str, *, as_json: bool) -> None:
    lines, stopped = _lines(), asyncio.ensure_future(stopping.wait())
    while not stopping:
        line = await _next(lines, stopped)
        if line is None:
            break
        if line.strip():
            trigger = console_trigger(
                line,
                channel=channel,
                user=user,
                redact=app.settings.redact,
                addressed=Addressed.DIRECT,
            )
            report(app, await app.run(trigger), as_json=as_json, compact=True)
            if not stopping:
                await app.sum_up(trigger.channel_id, trigger.channel_name)
    stopped.cancel()


async def _next(lines: "asyncio.Queue[str | None]", stopped: "asyncio.Future[None]") -> str | None:
    """The next line, or None at the end of the input or when the process is asked to stop."""
    if sys.stdin.isatty():
        click.echo(PROMPT, err=True, nl=False)
    waiting = asyncio.ensure_future(lines.get())
    either: set[asyncio.Future[Any]] = {waiting, stopped}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        return waiting.result()
    waiting.cancel()
    return None


def _lines() -> "asyncio.Queue[str | None]":
    """Standard input, read beside the loop; the thread is a daemon, so that Ctrl-C need not wait for a line.

    It reads the descriptor itself: a buffered reader has a lock, at which the interpreter would fail to end.
    """
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()

    def put(line: str | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(queue.put_nowait, line)

    def read() -> None:
        rest = b""
        while chunk := os.read(descriptor, CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                put(line.removesuffix(b"\r").decode("utf-8", "replace"))
        put(rest.decode("utf-8", "replace"))
        put(None)

    threading.Thread(target=read, name="chat-input", daemon=True).start()
    return queue
