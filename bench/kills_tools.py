"""The tool of `kills.py`: it leaves a line in the ledger each time that it runs."""

import os
import signal
from pathlib import Path

from phasewalk.phases.tools import tool

HERE = Path(__file__).parent


def point(place: str) -> None:
    """Die here, if this is the place."""
    wanted, _, number = os.environ.get("KILL", "-").partition(":")
    if wanted == place:
        count = int(os.environ.get(f"CAME_{place}", "0")) + 1
        os.environ[f"CAME_{place}"] = str(count)
        if count == int(number):
            os.kill(os.getpid(), signal.SIGKILL)


def write(line: str) -> None:
    """One line of the ledger, on the disk."""
    with (HERE / "ledger.txt").open("a") as file:
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


@tool(family="notes", effect="mutating")
async def notes_count() -> dict:
    """Count up."""
    point("before_tool")
    write("tool counted")
    point("inside_tool")
    return {"counted": 1}
