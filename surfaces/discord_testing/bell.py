"""Waiting until something is so, without looking again and again.

Owns the waiting. Knows nothing of what is waited for. Invariant: whoever changes anything rings; every waiting
question is asked again at each ring.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


class Bell:
    """Rung when something happened."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def ring(self) -> None:
        """Say that something happened."""
        for event in self._waiting:
            event.set()

    async def until(self, question: Callable[[], Found], seconds: float = 10.0) -> Found:
        """Wait until the answer is true in Python's sense and return it; raises TimeoutError after so many seconds."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            async with asyncio.timeout(seconds):
                while not (answer := question()):
                    await event.wait()
                    event.clear()
                return answer
        finally:
            self._waiting.discard(event)
