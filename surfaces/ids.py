"""Real ids and randomness."""

import random
import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def _base32(number: int, digits: int) -> str:
    text = ""
    for _ in range(digits):
        number, last = divmod(number, 32)
        text = _ALPHABET[last] + text
    return text


class SystemIds:
    """Ids that sort by time, which keeps rows of one time together in every index."""

    def __init__(self) -> None:
        self._last = 0

    def turn_id(self) -> str:
        """A new turn id of 14 characters: 7 for the second, 2 for the millisecond, 5 of chance.

        Each is greater than the one before, also when the wall clock steps back.
        """
        now = time.time_ns() // 1_000_000
        second, milli = divmod(now, 1000)
        number = (second << 35) | (milli << 25) | secrets.randbits(25)
        self._last = max(number, self._last + 1)
        return _base32(self._last, 14)

    def token(self) -> str:
        """A new lease token: 64 random bits."""
        return secrets.token_hex(8)

    def effect_id(self) -> str:
        """A new effect id: 64 random bits."""
        return secrets.token_hex(8)

    def fraction(self) -> float:
        """A number in 0..1 for jitter."""
        return random.random()  # noqa: S311 - spacing of retries needs no secrecy
