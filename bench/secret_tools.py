"""Tools of the secrets run (`secret_leaks.py`): they say or raise whatever was laid down for their ticket.

Owns `SAID`, which the run fills. Knows neither log nor model.
"""

import asyncio
import time

from phasewalk.phases.tools import tool

SAID: dict[str, object] = {}
"""What the call with this ticket is to return; an exception is raised."""

LIMIT = 0.2
STUBBORN = 0.3
"""Seconds that a call takes which does not listen to its cancellation."""


def _said(ticket: str) -> object:
    value = SAID.get(ticket, "nothing")
    if isinstance(value, Exception):
        raise value
    return value


@tool(family="vault", effect="read_only")
async def vault_read(ticket: str) -> object:
    """Read an entry."""
    return _said(ticket)


@tool(family="vault", effect="mutating")
async def vault_write(ticket: str, text: str = "") -> object:
    """Write an entry."""
    del text
    return _said(ticket)


@tool(family="vault", effect="mutating", approval=True)
async def vault_open(ticket: str, text: str = "") -> object:
    """Open the vault, which staff must permit."""
    del text
    return _said(ticket)


@tool(family="vault", effect="read_only", timeout=LIMIT)
async def vault_late(ticket: str) -> object:
    """Read an entry, whatever time it takes."""
    end = time.monotonic() + STUBBORN
    while (left := end - time.monotonic()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue
    return _said(ticket)
