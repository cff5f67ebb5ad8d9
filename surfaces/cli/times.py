"""Times as people read them: local with the zone named once, `--utc`, `--tz`; relative only beside absolute."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any

import click

_AGO = re.compile(r"(\d+)([smhdw])$")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Zone:
    """The zone that times are shown in; None is the one of this machine."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone

    def at(self, us: int) -> datetime:
        """The instant in this zone."""
        return datetime.fromtimestamp(us / 1_000_000, UTC).astimezone(self._zone)

    def full(self, us: int) -> str:
        """`2026-11-30 23:05:12`."""
        return f"{self.at(us):%Y-%m-%d %H:%M:%S}"

    def name(self, us: int) -> str:
        """The zone's name at that instant."""
        return self.at(us).tzname() or "UTC"


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


def ago(us: int, now: int) -> str:
    """`12 s ago`, `3 h ago`; `now` and `us` in microseconds."""
    return f"{lasting((now - us) / 1_000_000)} ago"


def lasting(seconds: float) -> str:
    """A span in the largest unit that leaves at least two of it."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def instant(text: str) -> int:
    """Microseconds of `2h` (ago), `2026-11-30`, or an ISO time (local unless it says otherwise)."""
    span = _AGO.match(text)
    if span:
        return now_us() - int(span.group(1)) * _SECONDS[span.group(2)] * 1_000_000
    try:
        return int(datetime.fromisoformat(text).astimezone().timestamp() * 1_000_000)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no time; expected 2h, 7d, 2026-11-30 or 2026-11-30T23:05") from error


def zone_of(*, utc: bool, tz: str | None) -> Zone:
    """The zone that the options name."""
    if tz is None:
        return Zone(UTC if utc else None)
    import zoneinfo

    try:
        return Zone(zoneinfo.ZoneInfo(tz))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise click.BadParameter(f"{tz!r} is no time zone; expected one such as Europe/Berlin") from error


def zone_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--utc` and `--tz` for a looking command."""
    command = click.option("--tz", metavar="NAME", help="Times in this zone, such as Europe/Berlin.")(command)
    return click.option("--utc", is_flag=True, help="Times in UTC; else in the zone of this machine.")(command)
