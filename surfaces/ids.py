"""Real ids and randomness."""

import random
import secrets
import time

from phasewalk.machine.turn_ids import CHANCE_BITS, DIGITS, base32, id_number


class SystemIds:
    """Ids that sort by time, which keeps rows of one time together in every index."""

    def __init__(self) -> None:
        self._last = 0

    def turn_id(self) -> str:
        """A new turn id, greater than the one before, also when the wall clock steps back."""
        number = id_number(time.time_ns() // 1_000_000, secrets.randbits(CHANCE_BITS))
        self._last = max(number, self._last + 1)
        return base32(self._last, DIGITS)

    def token(self) -> str:
        """A new lease token: 64 random bits."""
        return secrets.token_hex(8)

    def effect_id(self) -> str:
        """A new effect id: 64 random bits."""
        return secrets.token_hex(8)

    def fraction(self) -> float:
        """A number in 0..1 for jitter."""
        return random.random()  # noqa: S311 - spacing of retries needs no secrecy
