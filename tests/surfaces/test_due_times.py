"""When a job is due, by its expression and zone (TURN-17)."""

from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from phasewalk.surfaces.due_times import COUNTED, DueTimeError, DueTimes

HOUR = 3_600_000_000
DAY = 24 * HOUR


def us(text: str, zone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1_000_000


def shown(us: int) -> str:
    return f"{datetime.fromtimestamp(us / 1e6, UTC):%m-%d %H:%M}"


def coming(cron: str, since: str, count: int, zone: str = "Europe/Berlin") -> list[str]:
    """So many due times in UTC, each computed anew from the one before."""
    times, found = DueTimes.of(cron, zone), [us(since)]
    for _ in range(count):
        found.append(times.after(found[-1]))
    return [shown(each) for each in found[1:]]


@pytest.mark.spec("TURN-17")
def test_half_past_two_in_berlin_comes_once_on_the_day_without_that_hour_and_once_on_the_day_with_two():
    spring = coming("30 2 * * *", "2026-03-28T12:00", 3)
    autumn = coming("30 2 * * *", "2026-10-24T12:00", 3)
    assert spring == ["03-29 01:00", "03-30 00:30", "03-31 00:30"]  # when the gap ends, 03:00 there
    assert autumn == ["10-25 00:30", "10-26 01:30", "10-27 01:30"]  # the first of the two


@pytest.mark.spec("TURN-17")
@pytest.mark.parametrize("since", ["2026-10-25T00:40", "2026-10-25T01:10", "2026-10-25T01:30"])
def test_within_the_second_of_the_two_hours_the_first_does_not_come_again(since):
    assert coming("30 2 * * *", since, 1) == ["10-26 01:30"]


@pytest.mark.spec("TURN-17")
def test_what_repeats_within_the_day_goes_by_time_that_passes():
    assert coming("*/30 * * * *", "2026-10-24T23:59", 5) == [
        "10-25 00:00", "10-25 00:30", "10-25 01:00", "10-25 01:30", "10-25 02:00",
    ]  # fmt: skip


@pytest.mark.spec("TURN-17")
@given(some.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata"]),
       some.integers(0, 23), some.integers(0, 59), some.integers(us("2020-01-01") // DAY, us("2034-01-01") // DAY))  # fmt: skip
def test_a_fixed_time_of_day_comes_once_a_day_everywhere_and_always_later(zone, hour, minute, day):
    times = DueTimes.of(f"{minute} {hour} * * *", zone)
    found = [times.after(day * DAY)]
    for _ in range(40):
        found.append(times.after(found[-1]))
    days = [datetime.fromtimestamp(each / 1e6, ZoneInfo(zone)).date() for each in found]
    assert found == sorted(set(found))
    assert all((later - earlier).days == 1 for earlier, later in pairwise(days))


@pytest.mark.spec("TURN-17")
def test_of_what_passed_the_latest_is_told_and_how_many_lie_before_it():
    times = DueTimes.of("30 2 * * *", "Europe/Berlin")
    first = times.after(us("2026-03-27T12:00"))
    assert times.latest(first, first) == (first, 0)
    latest, missed = times.latest(first, us("2026-03-30T12:00"))
    assert (shown(latest), missed) == ("03-30 00:30", 2)


@pytest.mark.spec("TURN-17")
@pytest.mark.parametrize("cron", ["* * * * *", "*/7 * * * *", "* * 1 * *", "0 0 1 1 *"])
def test_after_years_the_latest_is_the_one_before_now(cron):
    times, now = DueTimes.of(cron, "Europe/Berlin"), us("2026-07-20T10:20")
    latest, missed = times.latest(times.after(us("2024-01-05T00:00")), now)
    assert latest <= now < times.after(latest)
    assert missed == (COUNTED if cron != "0 0 1 1 *" else 1)


@pytest.mark.spec("TURN-17")
@pytest.mark.parametrize(
    ("cron", "zone", "sentence"),
    [
        ("30 25 * * *", "UTC", "'30 25 * * *' is no cron expression: bad hour; expected such as '30 2 * * *'"),
        ("hourly", "UTC", "'hourly' is no cron expression; expected five fields such as '30 2 * * *'"),
        ("0 30 2 * * *", "UTC", "'0 30 2 * * *' is no cron expression; expected five fields such as '30 2 * * *'"),
        ("0 0 31 2 *", "UTC", "'0 0 31 2 *' is no cron expression: bad day-of-month; expected such as '30 2 * * *'"),
        ("0 0 * * *", "Mars/Base", "'Mars/Base' is no time zone; expected one such as Europe/Berlin or UTC"),
        ("0 0 * * *", "../etc/passwd", "'../etc/passwd' is no time zone; expected one such as Europe/Berlin or UTC"),
        ("0 0 * * *", "", "'' is no time zone; expected one such as Europe/Berlin or UTC"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(cron, zone, sentence):
    with pytest.raises(DueTimeError) as raised:
        DueTimes.of(cron, zone)
    assert str(raised.value) == sentence


@pytest.mark.spec("TURN-17")
@given(some.text("0123456789*/-,LW# monSUN", max_size=24))
def test_any_text_is_an_expression_or_one_sentence(text):
    with suppress(DueTimeError):
        assert DueTimes.of(text, "UTC").after(0) is not None
