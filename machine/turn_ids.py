"""The form of a turn id: 14 characters that sort by time. Owns the digits and their order; makes no chance.

Seven characters for the second, two for the millisecond, five of chance, each five bits of one number.
"""

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
SECOND_DIGITS = 7
DIGITS = 14
CHANCE_BITS = 25
MILLI_BITS = 10


def base32(number: int, digits: int) -> str:
    """The lowest `digits` digits of a number, the highest first."""
    text = ""
    for _ in range(digits):
        number, last = divmod(number, 32)
        text = ALPHABET[last] + text
    return text


def id_number(now_ms: int, chance: int) -> int:
    """The number that the id of this millisecond and chance is written from."""
    second, milli = divmod(now_ms, 1000)
    return (second << (MILLI_BITS + CHANCE_BITS)) | (milli << CHANCE_BITS) | chance


def floor_of(second: int) -> str:
    """What sorts before every id of this second or a later one; nothing for the beginning of time."""
    return base32(second, SECOND_DIGITS) if second else ""
