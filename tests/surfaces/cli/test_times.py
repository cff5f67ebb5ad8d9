"""Times as people read and type them (OPS-14)."""

import time
from datetime import UTC
from zoneinfo import ZoneInfo

import click
import pytest
from builders import LogBuilder

from phasewalk.surfaces.cli.times import Zone, ago, instant, lasting, now_us, rfc3339, zone_of

US = 1_796_080_379_688_131  # 2026-11-30T23:12:59.688131Z
BERLIN = Zone(ZoneInfo("Europe/Berlin"), "Europe/Berlin")

SPANS = [
    (0.00049, "0.5 ms"), (0.0123, "12 ms"), (0.9999, "1.0 s"), (3.21, "3.2 s"), (42.4, "42 s"), (59.6, "1 min"),
    (125, "2 min 5 s"), (3600, "1 h"), (11_400, "3 h 10 min"), (187_200, "2 d 4 h"), (0, "0.0 ms"),
]  # fmt: skip


@pytest.mark.parametrize(("seconds", "text"), SPANS)
def test_a_span_is_told_in_at_most_two_units(seconds, text):
    assert lasting(seconds) == text


def test_relative_times_look_both_ways():
    assert (ago(US, US + 125_000_000), ago(US + 5_000_000, US)) == ("2 min 5 s ago", "in 5.0 s")


def test_programs_get_rfc_3339_with_microseconds():
    assert (rfc3339(US), rfc3339(None)) == ("2026-11-30T23:12:59.688131Z", None)


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize(
    ("zone", "text"),
    [(zone_of(utc=True, tz=None), "2026-11-30 23:12:59"), (BERLIN, "2026-12-01 00:12:59"),
     (zone_of(utc=False, tz="America/St_Johns"), "2026-11-30 19:42:59")],
)  # fmt: skip
def test_a_time_is_shown_in_the_zone_that_was_asked_for(zone, text):
    assert zone.full(US) == text


@pytest.mark.parametrize("us", [-5, 10**30])
def test_an_impossible_time_is_shown_as_the_nearest_possible_one(us):
    assert Zone(UTC, "UTC").full(us) in ("1970-01-01 00:00:00", "9999-01-01 00:00:00")


@pytest.mark.parametrize(
    ("text", "us"),
    [("2026-11-30T23:12:59Z", 1_796_080_379_000_000), ("2026-12-01", 1_796_079_600_000_000),
     ("2026-12-01 00:12", 1_796_080_320_000_000), ("2026-12-01T01:00:00+02:00", 1_796_079_600_000_000),
     ("0001-01-01", 0)],
)  # fmt: skip
def test_a_typed_time_is_meant_in_the_zone_unless_it_says_otherwise(text, us):
    assert instant(text, BERLIN) == us


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("15 min", 900), ("2h", 7200), ("7d", 604_800), ("1W", 604_800)]
)
def test_a_span_that_is_typed_means_so_long_ago(text, seconds):
    assert abs(now_us() - instant(text) - seconds * 1_000_000) < 60_000_000


def test_longer_ago_than_anything_is_the_beginning():
    assert instant("999999999d") == 0


@pytest.mark.parametrize("text", ["", "soon", "-2h", "2 fortnights", "2026-13-01", "1" * 40 + "d", "²h"])
def test_what_is_no_time_is_refused_with_what_would_do(text):
    with pytest.raises(click.BadParameter, match="is no time; expected 2h, 7d, 2026-11-30"):
        instant(text)


LOCAL = [
    ("America/St_Johns", "America/St_Johns"), ("UTC", "UTC"), ("Etc/UTC", "UTC"), ("XYZ-3", "UTC+03:00"),
    ("../../etc/passwd", "UTC"), ("Mars/Base", "UTC"),
]  # fmt: skip


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize(("set_to", "name"), LOCAL)
def test_the_local_zone_is_named_as_it_is_or_by_its_distance_from_utc(monkeypatch, set_to, name):
    monkeypatch.setenv("TZ", set_to)
    time.tzset()
    try:
        assert zone_of(utc=False, tz=None).name == name
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.spec("OPS-14")
def test_the_local_zone_is_named_once_in_a_list(builder: LogBuilder, process):
    builder.turns(3)
    answer = process("list", environment={"TZ": "America/St_Johns"})
    assert answer.out.count("America/St_Johns") == 1
    berlin = process("list", "--tz", "Europe/Berlin", environment={"TZ": "America/St_Johns"})
    assert berlin.lines[0].startswith("STARTED, Europe/Berlin")
