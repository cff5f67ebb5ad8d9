"""Times as people read and type them: local with the zone named once, `--utc`, `--tz`; relative only beside absolute.

Owns the zone of an answer and the forms of instants and spans. Everything inside is microseconds since the epoch.
"""

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import click

_AGO = re.compile(r"(\d{1,9})\s*(s|m|min|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_ZONES = Path("/usr/share/zoneinfo")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_US = 253_370_764_800_000_000
"""The year 9999 begins: what is later is shown as this."""


class Zone:
    """The zone that times are shown in; None is the one of this machine."""

    def __init__(self, zone: tzinfo | None, name: str | None = None) -> None:
        """`name` is how the zone is called; without one, the local zone's name is looked up."""
        self.zone = zone
        self.name = name or _local_name()

    def at(self, us: int) -> datetime:
        """The instant in this zone."""
        return _utc(us).astimezone(self.zone)

    def full(self, us: int) -> str:
        """`2026-11-30 23:05:12`."""
        return f"{self.at(us):%Y-%m-%d %H:%M:%S}"


def _utc(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=min(max(us, 0), _LATEST_US))


def _local_name() -> str:
    """The name of this machine's zone where that is certain, else its distance from UTC."""
    name = os.environ.get("TZ") or str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
    if name in ("UTC", "Etc/UTC"):
        return "UTC"
    if name and not name.startswith((".", "/", ":")) and (_ZONES / name).is_file():
        return name
    offset = datetime.now(UTC).astimezone().strftime("%z")
    return "UTC" if offset == "+0000" else f"UTC{offset[:3]}:{offset[3:5]}"


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


def rfc3339(us: int | None) -> str | None:
    """`2026-11-30T23:12:59.688131Z`, for programs; None stays None."""
    return None if us is None else f"{_utc(us):%Y-%m-%dT%H:%M:%S.%fZ}"


def ago(us: int, now: int) -> str:
    """`12 s ago`, `3 h 5 min ago`, or `in 5 s`; to be put beside the time itself."""
    span = lasting(abs(now - us) / 1_000_000)
    return f"{span} ago" if now >= us else f"in {span}"


def lasting(seconds: float) -> str:
    """A span in at most two units: `0.5 ms`, `12 ms`, `3.2 s`, `42 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`."""
    for below, text in (
        (0.00995, f"{seconds * 1000:.1f} ms"),
        (0.9995, f"{seconds * 1000:.0f} ms"),
        (9.95, f"{seconds:.1f} s"),
        (59.5, f"{seconds:.0f} s"),
    ):
        if seconds < below:
            return text
    whole = round(seconds)
    size, unit, part, small = next(step for step in _STEPS if whole >= step[0])
    rest = whole % size // part
    return f"{whole // size} {unit}" + (f" {rest} {small}" if rest else "")


_STEPS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


def instant(text: str, zone: Zone | None = None) -> int:
    """Microseconds of `2h` (ago), `2026-11-30`, or an ISO time, in `zone` (the local one) unless it says otherwise.

    Raises `click.BadParameter` for anything else.
    """
    span = _AGO.fullmatch(text.strip().lower())
    if span:
        return max(now_us() - int(span.group(1)) * _SECONDS[span.group(2)] * 1_000_000, 0)
    try:
        when = datetime.fromisoformat(text.strip())
        if when.tzinfo is None:
            when = when.replace(tzinfo=zone.zone) if zone is not None and zone.zone is not None else when.astimezone()
        return max((when - _EPOCH) // timedelta(microseconds=1), 0)
    except (ValueError, OverflowError, OSError) as error:
        raise click.BadParameter(f"{text!r} is no time; expected 2h, 7d, 2026-11-30 or 2026-11-30T23:05") from error


def zone_of(*, utc: bool, tz: str | None) -> Zone:
    """The zone that the options name."""
    if utc and tz is not None:
        raise click.UsageError("--utc and --tz are two zones; ask for one")
    if utc or (tz is not None and tz.upper() == "UTC"):
        return Zone(UTC, "UTC")
    if tz is None:
        return Zone(None)
    import zoneinfo

    try:
        return Zone(zoneinfo.ZoneInfo(tz), tz)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise click.BadParameter(f"{tz!r} is no time zone; expected one such as Europe/Berlin") from error


def zone_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--utc` and `--tz` for a looking command."""
    command = click.option("--tz", metavar="NAME", help="Times in this zone, such as Europe/Berlin.")(command)
    return click.option("--utc", is_flag=True, help="Times in UTC; else in the zone of this machine.")(command)
