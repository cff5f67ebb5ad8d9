"""A fake Discord as a process: prints its three addresses and serves until it is ended."""

import argparse
import asyncio
import contextlib
import sys

from phasewalk.surfaces.discord_testing.server import FakeDiscord
from phasewalk.surfaces.discord_testing.world import PRIVILEGED, small_world


async def _serve(given: argparse.Namespace) -> None:
    world = small_world(token=given.token, privileged=given.privileged, nonce_seconds=given.nonce_seconds)
    async with FakeDiscord(world, port=given.port, heartbeat_interval=given.heartbeat_interval) as fake:
        sys.stdout.write(f"api={fake.api}\ngateway={fake.gateway_url}\ncontrol={fake.control}\n")
        sys.stdout.flush()
        if given.until_input_ends:
            await asyncio.to_thread(sys.stdin.read)
        else:
            await asyncio.Event().wait()


def main() -> None:
    """Serve a small world until the process is ended."""
    parser = argparse.ArgumentParser(description="A fake Discord on 127.0.0.1, steered by POST /control/VERB.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--token", default="fake-token", help="the only token that is good")
    parser.add_argument("--heartbeat-interval", type=float, default=41.25, help="seconds between heartbeats")
    parser.add_argument("--nonce-seconds", type=float, default=120.0, help="how long a nonce is remembered")
    parser.add_argument(
        "--privileged",
        nargs="*",
        default=list(PRIVILEGED),
        choices=list(PRIVILEGED),
        help="the privileged intents that are switched on; all unless said otherwise",
    )
    parser.add_argument(
        "--until-input-ends", action="store_true", help="end with the standard input, so with whoever started it"
    )
    given = parser.parse_args()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(given))
    except (OSError, OverflowError) as error:
        sys.exit(f"cannot listen on port {given.port} of 127.0.0.1: {error}; 0 takes a free one")


if __name__ == "__main__":
    main()
