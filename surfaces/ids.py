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
    """Ids of 13 characters: 7 for the second, which keeps rows of one time together, 6 of chance."""

    def turn_id(self) -> str:
        """A new turn id; sorts by second."""
        return _base32(int(time.time()), 7) + _base32(secrets.randbits(30), 6)

    def token(self) -> str:
        """A new lease token: 64 random bits."""
        return secrets.token_hex(8)

    def effect_id(self) -> str:
        """A new effect id: 64 random bits."""
        return secrets.token_hex(8)

    def fraction(self) -> float:
        """A number in 0..1 for jitter."""
        return random.random()  # noqa: S311 - spacing of retries needs no secrecy
