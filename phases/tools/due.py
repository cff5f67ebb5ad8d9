"""Reads when something is due, as a model or a person writes it.

Owns the accepted forms, which `ACCEPTED` names. Knows no task and no clock. Invariant: the same text and now give the
same instant, or one sentence that says what would be accepted.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from phasewalk.machine.text import named
from phasewalk.phases.tools.stamps import EPOCH

ACCEPTED = (
    "accepted are dates and times to come such as '2026-12-03', '2026-12-03T18:00', '2026-12-03T18:00+01:00',"
    " 'in 30 minutes', 'in 2 hours', 'in 3 days', 'tomorrow', 'tomorrow 18:00', 'friday 9am', 'this evening', 'tonight'"
    " and '18:00'; without an offset they are UTC, and a day alone means 09:00"
)

MORNING = time(9)
"""When a day without a time is meant."""

_PARTS_OF_DAY = {
    "morning": MORNING,
    "noon": time(12),
    "afternoon": time(15),
    "evening": time(18),
    "night": time(20),
}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = {
    "minute": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}

_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?P<time>[t ](?:at )?\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?: ?(?:z|utc)|[+-]\d\d:?\d\d)?)?", re.ASCII
)
_IN = re.compile(rf"in (?:(?P<count>\d{{1,4}}|an?)|(?P<half>half an?)) (?P<unit>{'|'.join(_UNITS)})s?", re.ASCII)
_SAME_AS = (
    (re.compile(r"^(?:due )?(?:(?:on|at|by) )?"), ""),
    (re.compile(r"^this "), "today "),
    (re.compile(r"^tonight$"), "today night"),
    (re.compile(r"^tonight(?: at)? (?=\d)"), "today "),
)
_DAY = re.compile(rf"(?P<day>today|tomorrow|{'|'.join(_WEEKDAYS)})(?: at)?(?: (?P<time>\S.*))?")
_DAY_LAST = re.compile(rf"(?P<time>\S.*?)(?: on)? (?P<day>today|tomorrow|{'|'.join(_WEEKDAYS)})")
_CLOCK = re.compile(r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?P<half> ?[ap]m)?(?: ?utc)?", re.ASCII)


class DueError(ValueError):
    """The caller's: no instant to come is meant. Its text says which are accepted."""


def due_us(text: str, now_us: int) -> int:
    """The instant that `text` means at `now_us`, both microseconds since the epoch.

    Raises `DueError` for any other form, and for an instant that is not to come.
    """
    now = EPOCH + timedelta(microseconds=now_us)
    to_come = [instant for instant in _meant(text, now) if instant > now]
    if not to_come:
        raise DueError(f"{named(text)} is in the past; {ACCEPTED}")
    return (min(to_come) - EPOCH) // timedelta(microseconds=1)


def check_due(text: str) -> None:
    """Raise `DueError` for a text that means no instant, whatever the time is."""
    _meant(text, EPOCH)


def _meant(text: str, now: datetime) -> Sequence[datetime]:
    """The instants that may be meant, past ones too; raises `DueError` where there is none."""
    said = " ".join(text.casefold().replace(",", " ").split())
    for pattern, plain in _SAME_AS:
        said = pattern.sub(plain, said)
    try:
        return _read(said, now)
    except (ValueError, OverflowError) as error:  # no such form; 2026-02-30, 25:00, year 9999 west of Greenwich
        raise DueError(f"{named(text)} is not understood; {ACCEPTED}") from error


def _read(said: str, now: datetime) -> list[datetime]:
    """As `_meant`; raises `ValueError` or `OverflowError`."""
    if found := _ISO.fullmatch(said):
        return [_of_iso(said, day_only=found["time"] is None)]
    if found := _IN.fullmatch(said):
        unit = _UNITS[found["unit"]]
        count = found["count"]
        return [now + (unit / 2 if count is None else unit * int(count) if count.isdigit() else unit)]
    if found := _DAY.fullmatch(said) or _DAY_LAST.fullmatch(said):
        return _on_day(found["day"], _time(found["time"]) if found["time"] else MORNING, now)
    at = _time(said)
    return [_at(now, 0, at), _at(now, 1, at)]


def _of_iso(said: str, *, day_only: bool) -> datetime:
    """A date, or a date with a time; without an offset it is UTC."""
    said = said.replace(" at ", " ").replace("utc", "z").replace(" z", "z").upper()
    instant = datetime.fromisoformat(said)
    if day_only:
        instant = datetime.combine(instant, MORNING)
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


def _on_day(day: str, at: time, now: datetime) -> list[datetime]:
    if day in ("today", "tomorrow"):
        return [_at(now, int(day == "tomorrow"), at)]
    days = (_WEEKDAYS.index(day) - now.weekday()) % 7
    return [_at(now, days, at), _at(now, days + 7, at)]


def _time(said: str) -> time:
    """A time of day; raises `ValueError` for what is none."""
    if said in _PARTS_OF_DAY:
        return _PARTS_OF_DAY[said]
    found = _CLOCK.fullmatch(said)
    if found is None or (found["minute"] is None and found["half"] is None):
        raise ValueError(said)
    hour = int(found["hour"])
    if found["half"] is not None:
        if not 1 <= hour <= 12:  # noqa: PLR2004 - the hours of half a day
            raise ValueError(said)
        hour = hour % 12 + (12 if found["half"].strip() == "pm" else 0)
    return time(hour, int(found["minute"] or 0))


def _at(now: datetime, days: int, at: time) -> datetime:
    return datetime.combine(now.date() + timedelta(days=days), at, UTC)
