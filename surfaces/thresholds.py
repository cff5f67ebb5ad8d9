"""`[check]`: from which numbers on the bot is not well (OPS-11).

Owns the keys, their defaults and their checks, for the first screen and for `phasewalk check`. Imports nothing that
takes time: the first screen must come at once.
"""

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

from phasewalk.storage.health import DAY_US, SILENT_US

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds of each unit of a span."""

_SPAN = re.compile(r"(\d{1,6})([smhdw])")


class Thresholds(NamedTuple):
    """Shares are between 0 and 1, spans in microseconds; None: not asked.

    `turns` and `turns_lately` (of the last hour) are the fewest to judge shares by; over `failed`, turns that ended
    badly are a fault, over `unclear` they are no verdict; `canned` is the share of fixed or like answers; so many
    turns may be `stuck` and effects `in_doubt`; a process may be `silent_us` without a sign of life, the newest turn
    may be `newest_us` old, and with `running` a bot must run.
    """

    period_us: int = DAY_US
    turns: int = 20
    turns_lately: int = 10
    failed: float = 0.2
    unclear: float = 0.05
    canned: float = 0.5
    stuck: int = 0
    in_doubt: int = 0
    silent_us: int = SILENT_US
    newest_us: int | None = None
    running: bool = False


def thresholds_of(table: object) -> Thresholds:
    """The thresholds that a table of the configuration sets; raises `ValueError` with one sentence for a wrong one."""
    if isinstance(table, Thresholds):
        return table
    if not isinstance(table, Mapping):
        raise ValueError("a table is due, such as [check]")  # noqa: TRY004 - pydantic makes a sentence of this one
    given: dict[str, object] = {}
    for key, value in table.items():
        name = KEYS.get(str(key))
        if name is None:
            near = difflib.get_close_matches(str(key), KEYS, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known are {', '.join(KEYS)}"
            raise ValueError(f"unknown key '{key}'; {hint}")
        given[name] = _value(str(key), name, value)
    return Thresholds(**given)  # type: ignore[arg-type]  # each value was checked by its name


KEYS = {name.removesuffix("_us").replace("_", "-"): name for name in Thresholds._fields}
"""The keys of the file, and what they set."""

_SHARES = ("failed", "unclear", "canned")


def _value(key: str, name: str, value: object) -> object:
    if name == "running":
        if isinstance(value, bool):
            return value
        raise ValueError(f"'{key}' is true or false, not {value!r}")
    if name.endswith("_us"):
        span = _SPAN.fullmatch(value) if isinstance(value, str) else None
        if span is None or int(span[1]) == 0:
            raise ValueError(f"'{key}' is a span such as '24h', not {value!r}")
        return int(span[1]) * UNITS[span[2]] * 1_000_000
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    if name in _SHARES:
        if 0 <= number <= 1:
            return float(number)
        raise ValueError(f"'{key}' is a share between 0 and 1, not {value!r}")
    if isinstance(number, int) and number >= 0:
        return number
    raise ValueError(f"'{key}' is a whole number of at least 0, not {value!r}")
