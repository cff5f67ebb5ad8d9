"""Tools of the fault run (`faults.py`), which behave in each of the ways in which tools behave badly.

Owns `RUNS`: the ticket of every call that really ran, in order. Knows neither log nor model, so that what it counts
can be held against what they say.
"""

import asyncio
import time
from typing import Annotated, Literal

from pydantic import AfterValidator

from phasewalk.phases.tools import tool

RUNS: list[str] = []
LIMIT = 0.3
"""Seconds that a call may take."""

STUBBORN = 0.6
"""Seconds that a call takes which does not listen to its cancellation."""

EXPLOSION = "the ledger fell apart at /srv/ledger.db with password=letmein-99"
Manner = Literal["well", "raises", "hangs", "stubborn", "huge", "odd"]


class LedgerError(Exception):
    """The ledger's own."""


class _Odd:
    """A result that cannot even be shown."""

    def __str__(self) -> str:
        raise LedgerError(EXPLOSION)

    __repr__ = __str__


def _tidy(page: str) -> str:
    """Checks an argument and has a bug: it raises what no validation expects."""
    if page == "torn":
        raise LedgerError(EXPLOSION)
    return page


Page = Annotated[str, AfterValidator(_tidy)]


def _result(ticket: str, manner: Manner) -> object:
    match manner:
        case "raises":
            raise LedgerError(EXPLOSION)
        case "huge":
            return "\N{GRINNING FACE}" * 500_000
        case "odd":
            return _Odd()
        case _:
            return {"ticket": ticket, "entries": 7}


async def _work(ticket: str, manner: Manner) -> object:
    RUNS.append(ticket)
    if manner == "hangs":
        await asyncio.sleep(60)
    elif manner == "stubborn":
        await _unmoved(STUBBORN)
    return _result(ticket, manner)


async def _unmoved(seconds: float) -> None:
    """Wait to the end, whoever cancels."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


@tool(family="ledger", effect="mutating", timeout=LIMIT)
async def ledger_write(ticket: str, manner: Manner = "well", page: Page = "") -> object:
    """Write an entry."""
    del page
    return await _work(ticket, manner)


@tool(family="ledger", effect="read_only", timeout=LIMIT)
async def ledger_read(ticket: str, manner: Manner = "well", page: Page = "") -> object:
    """Read the entries."""
    del page
    return await _work(ticket, manner)


@tool(family="ledger", timeout=LIMIT)
def ledger_close(ticket: str, manner: Manner = "well") -> object:
    """Close the ledger; declared neither read-only nor mutating, and runs in a thread."""
    RUNS.append(ticket)
    if manner in ("hangs", "stubborn"):
        time.sleep(STUBBORN)
    return _result(ticket, manner)
