"""A fake Discord in a process or thread of its own, and how to steer it from outside.

Owns the starting and the calls. Knows no client library. Invariant: whoever leaves the `with` has ended what it
started, and nothing else.
"""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from attrs import fields, frozen

from phasewalk.surfaces.discord_testing.server import FakeDiscord

LONGEST_CALL = 60.0


@frozen
class Remote:
    """The addresses of a fake that runs elsewhere; see `control` for its verbs."""

    api: str
    gateway_url: str
    control: str

    def do(self, verb: str, /, **arguments: Any) -> Any:
        """Do one verb there and return what it gives; blocks.

        Raises:
            ValueError: the fake could not do that; the sentence says why.

        """
        place = urlsplit(self.control)
        with closing(HTTPConnection(place.netloc, timeout=LONGEST_CALL)) as connection:
            connection.request("POST", f"{place.path}/{verb}", json.dumps(arguments).encode())
            answer = json.load(connection.getresponse())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["result"]


@contextmanager
def in_process(*arguments: str) -> Iterator[Remote]:
    """A fake in a process of its own; `arguments` are those of its command line."""
    command = [sys.executable, "-m", "phasewalk.surfaces.discord_testing", "--until-input-ends", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  - our own module
        try:
            out = process.stdout or ()
            lines = [line.rstrip() for line in islice(out, 3)]
            if len(lines) < len(fields(Remote)):
                raise RuntimeError(f"the fake did not start: {' '.join(command)} ended with {process.wait()}")
            yield Remote(*(line.partition("=")[2] for line in lines))
        finally:
            process.terminate()


@contextmanager
def in_thread(fake: FakeDiscord) -> Iterator[Remote]:
    """A fake in a thread with a loop of its own; touch it only through what is given here."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(fake.__aenter__(), loop).result(LONGEST_CALL)
        yield Remote(fake.api, fake.gateway_url, fake.control)
    finally:
        asyncio.run_coroutine_threadsafe(fake.__aexit__(), loop).result(LONGEST_CALL)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
