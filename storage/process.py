"""Whether a process of this host is still the one that wrote a row; the only reader of /proc."""

import os
from pathlib import Path


def started_mark(pid: int) -> str:
    """A mark that differs for two processes that had the same pid; empty where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def is_alive(pid: int, mark: str) -> bool:
    """Whether the process with this pid is running and is the one that had `mark`."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return not mark or started_mark(pid) in ("", mark)
