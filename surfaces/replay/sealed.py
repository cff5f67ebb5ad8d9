"""No socket, whatever runs: not even one that a tool's own module would open while it is imported.

Owns the guard, which listens to what Python itself reports of sockets. Invariant: while the seal is on, making or
using a socket anywhere in the process raises.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class SealedError(OSError):
    """Something wanted a socket."""


class _Seal:
    """Whether sockets are forbidden now; the hook, once given to Python, stays for ever."""

    on = False
    installed = False

    @classmethod
    def hook(cls, event: str, _arguments: tuple[object, ...]) -> None:
        """Refuse what concerns sockets."""
        if cls.on and event.startswith("socket."):
            raise SealedError(f"a replay opens no socket ({event})")


@contextmanager
def sealed() -> Iterator[None]:
    """Let nothing in this process make or use a socket meanwhile."""
    if not _Seal.installed:
        sys.addaudithook(_Seal.hook)
        _Seal.installed = True
    _Seal.on = True
    try:
        yield
    finally:
        _Seal.on = False
