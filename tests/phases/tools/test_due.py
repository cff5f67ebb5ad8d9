"""When something is due: the forms that are read, and the one sentence for all others."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.phases.tools.due import ACCEPTED, DueError, check_due, due_us
from phasewalk.phases.tools.stamps import EPOCH, iso

NOW_US = 1_790_000_000_000_000
"""2026-09-21T14:13:20Z, a Monday."""

NOW = EPOCH + timedelta(microseconds=NOW_US)
LAST_US = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)

READ = {
    "2026-12-03": "2026-12-03T09:00:00Z",
    "on 2026-12-03": "2026-12-03T09:00:00Z",
    "2026-12-03T18:00": "2026-12-03T18:00:00Z",
    "2026-12-03t18:00z": "2026-12-03T18:00:00Z",
    "2026-12-03 18:00:30": "2026-12-03T18:00:30Z",
    "2026-12-03 at 18:00 UTC": "2026-12-03T18:00:00Z",
    "2026-12-03T18:00:30.5Z": "2026-12-03T18:00:30Z",
    "2026-12-03T18:00+02:00": "2026-12-03T16:00:00Z",
    "2026-12-03T18:00-0330": "2026-12-03T21:30:00Z",
    "in 30 minutes": "2026-09-21T14:43:20Z",
    "In  1 MIN": "2026-09-21T14:14:20Z",
    "in 2 hours": "2026-09-21T16:13:20Z",
    "in an hour": "2026-09-21T15:13:20Z",
    "in half an hour": "2026-09-21T14:43:20Z",
    "in 3 days": "2026-09-24T14:13:20Z",
    "in a week": "2026-09-28T14:13:20Z",
    "tomorrow": "2026-09-22T09:00:00Z",
    "tomorrow 18:00": "2026-09-22T18:00:00Z",
    "tomorrow, at 6:30 pm": "2026-09-22T18:30:00Z",
    "tomorrow morning": "2026-09-22T09:00:00Z",
    "at 6pm tomorrow": "2026-09-22T18:00:00Z",
    "12am tomorrow": "2026-09-22T00:00:00Z",
    "12pm tomorrow": "2026-09-22T12:00:00Z",
    "today 18:00": "2026-09-21T18:00:00Z",
    "this evening": "2026-09-21T18:00:00Z",
    "tonight": "2026-09-21T20:00:00Z",
    "tonight at 9pm": "2026-09-21T21:00:00Z",
    "18:00": "2026-09-21T18:00:00Z",
    "at 9:30": "2026-09-22T09:30:00Z",
    "at noon": "2026-09-22T12:00:00Z",
    "friday 9am": "2026-09-25T09:00:00Z",
    "by friday": "2026-09-25T09:00:00Z",
    "18:00 on sunday": "2026-09-27T18:00:00Z",
    "monday 15:00": "2026-09-21T15:00:00Z",
    "monday 14:00": "2026-09-28T14:00:00Z",
}


@pytest.mark.parametrize(("text", "instant"), READ.items())
def test_what_people_and_models_write_is_read(text, instant):
    assert iso(due_us(text, NOW_US)) == instant


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "in two hours", "in 2 fortnights", "in 12345 days", "tomorrow at 6", "25:00", "13pm", "0am", "9:60",
        "2026-02-30", "2026-12-03T25:00", "2026-W49-4", "20261203", "03.12.2026", "2026-12-3", "٢٠٢٦-١٢-٠٣", "in ٣ days",
        "9999-12-31T23:59-12:00", "0001-01-01T00:00+12:00", "tomorrow tomorrow", "today monday", "next year",
    ],
)  # fmt: skip
def test_any_other_form_is_refused_with_what_is_accepted(text):
    with pytest.raises(DueError) as caught:
        due_us(text, NOW_US)
    assert str(caught.value) == f"{text!r} is not understood; {ACCEPTED}"
    with pytest.raises(DueError):
        check_due(text)


@pytest.mark.parametrize(
    "text", ["2026-09-21", "2026-09-21T14:13:20Z", "2026-09-21T16:13:20+02:00", "today", "today 9am", "this morning", "in 0 days"]
)  # fmt: skip
def test_what_is_not_to_come_is_refused_with_what_is_accepted(text):
    with pytest.raises(DueError) as caught:
        due_us(text, NOW_US)
    assert str(caught.value) == f"{text!r} is in the past; {ACCEPTED}"


@pytest.mark.parametrize("example", [part for number, part in enumerate(ACCEPTED.split("'")) if number % 2])
def test_every_form_that_the_sentence_names_is_read(example):
    assert due_us(example, NOW_US) > NOW_US


def test_an_error_shows_no_more_than_a_line_of_what_was_written():
    with pytest.raises(DueError) as caught:
        due_us("x" * 100_000, NOW_US)
    assert len(str(caught.value)) < len(ACCEPTED) + 100


def test_the_form_alone_is_right_whatever_the_time_is():
    check_due("2001-01-01")


@given(
    st.one_of(
        st.text(),
        st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d([+-]\d\d:\d\d)?", fullmatch=True),
        st.lists(
            st.sampled_from(["in", "at", "on", "2", "99", "hours", "day", "tomorrow", "friday", "18:00", "9pm", "this", "noon", "utc", ","])
        ).map(" ".join),
    ),
    st.integers(0, 253_370_764_800_000_000),
)  # fmt: skip
def test_any_text_at_any_time_is_an_instant_to_come_or_the_sentence(text, now_us):
    said = ""
    try:
        at_us = due_us(text, now_us)
    except DueError as error:
        said = str(error)
    assert said.endswith(ACCEPTED) if said else now_us < at_us < LAST_US


@given(
    st.integers(NOW_US + 1, LAST_US - 2 * 86_400_000_000),
    st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
def test_an_iso_instant_is_read_as_it_stands(at_us, zone):
    aware = (EPOCH + timedelta(microseconds=at_us)).astimezone(zone)
    assert EPOCH + timedelta(microseconds=due_us(aware.isoformat(), NOW_US)) == aware


@given(st.integers(1, 9999), st.sampled_from(["minutes", "hours", "days", "weeks"]))
def test_a_span_counts_from_now(count, unit):
    assert EPOCH + timedelta(microseconds=due_us(f"in {count} {unit}", NOW_US)) == NOW + timedelta(**{unit: count})
