"""When a job is due: instants of a cron expression in a named time zone (TURN-17).

Owns the reading of expressions and zones. Knows no job. Invariant: a fixed time of day is due exactly once on every
day, also where clocks change: one that is skipped comes when the gap ends, one that comes twice counts the first time.
What repeats within the day (`*` for minute or hour) goes by time that passes. All instants are microseconds since the
epoch.
"""

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from attrs import define
from cronsim import CronSim, CronSimError

FIELDS = 5
COUNTED = 1000
"""So many due times that passed are counted one by one."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BACK = tuple(timedelta(hours=hours) for hours in (1, 24, 24 * 40, 24 * 400, 24 * 366 * 9))
"""Where the last due time is looked for when very many have passed."""


class DueTimeError(ValueError):
    """The caller's: an expression, a zone or a time that is none. Its text is one sentence."""


def zone_named(name: str) -> ZoneInfo:
    """The zone; raises `DueTimeError` for a name that is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise DueTimeError(f"'{name}' is no time zone; expected one such as Europe/Berlin or UTC") from error


@define
class DueTimes:
    """The due times of one expression in one zone."""

    cron: str
    zone: ZoneInfo

    @classmethod
    def of(cls, cron: str, zone: str) -> "DueTimes":
        """Raises `DueTimeError` for an expression that is none or never comes, and for a zone that is none."""
        times = cls(cron, zone_named(zone))
        if len(cron.split()) != FIELDS:
            raise DueTimeError(f"'{cron}' is no cron expression; expected five fields such as '30 2 * * *'")
        try:
            first = times.after(0)
        except CronSimError as error:
            said = str(error)[:1].lower() + str(error)[1:]
            raise DueTimeError(f"'{cron}' is no cron expression: {said}; expected such as '30 2 * * *'") from error
        if first is None:
            raise DueTimeError(f"'{cron}' never comes")
        return times

    def after(self, us: int) -> int | None:
        """The first due time after this instant; None where there is none any more."""
        return next(self.following(us), None)

    def following(self, us: int) -> Iterator[int]:
        """The due times after this instant, one by one."""
        start = (_EPOCH + timedelta(microseconds=us)).astimezone(self.zone)
        for when in CronSim(self.cron, start):
            found = (when.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)
            if found > us:  # the second time that clocks show an hour, the library begins again with the first
                yield found

    def latest(self, due_us: int, now_us: int) -> tuple[int, int]:
        """The last due time up to now, where `due_us` was the first, and how many lie before it (`COUNTED` at most)."""
        latest, passed = due_us, 0
        for found in islice(self.following(due_us), COUNTED):
            if found > now_us:
                return latest, passed
            latest, passed = found, passed + 1
        for back in _BACK:
            since = max(now_us - back // timedelta(microseconds=1), latest)
            last = deque(takewhile(lambda found: found <= now_us, self.following(since)), maxlen=1)
            if last:
                return last[0], passed
        return latest, passed
