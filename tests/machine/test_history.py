"""Which entries leave the working window of history."""

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.history import overflow


@frozen
class Entry:
    entry_id: int
    channel_id: str
    unit: str = ""


ENTRIES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "", "", "u1", "u2"])), max_size=30).map(
    lambda pairs: [Entry(n, channel, unit) for n, (channel, unit) in enumerate(pairs, 1)]
)


def kept(entries: list[Entry], limit: int, per_channel: int) -> list[Entry]:
    gone = set(overflow(entries, limit, per_channel))
    return [entry for entry in entries if entry.entry_id not in gone]


@pytest.mark.spec("ENV-07", "ENV-11")
@given(ENTRIES, st.integers(-1, 30), st.integers(0, 5))
def test_no_more_than_the_limit_stays(entries: list[Entry], limit: int, per_channel: int):
    assert len(kept(entries, limit, per_channel)) <= max(limit, 0)


@pytest.mark.spec("ENV-11")
@given(ENTRIES, st.integers(0, 30), st.integers(0, 5))
def test_a_unit_is_never_parted(entries: list[Entry], limit: int, per_channel: int):
    left = kept(entries, limit, per_channel)
    for unit in {(e.channel_id, e.unit) for e in left if e.unit}:
        whole = [e for e in entries if (e.channel_id, e.unit) == unit]
        assert [e for e in left if (e.channel_id, e.unit) == unit] == whole


@pytest.mark.spec("ENV-07")
@given(ENTRIES, st.integers(0, 30), st.integers(0, 5))
def test_nothing_goes_that_need_not_and_nothing_goes_twice(entries: list[Entry], limit: int, per_channel: int):
    gone = overflow(entries, limit, per_channel)
    assert len(gone) == len(set(gone))
    assert bool(gone) is (len(entries) > limit)


@pytest.mark.spec("ENV-11")
@given(ENTRIES, st.integers(0, 30), st.integers(0, 5))
def test_of_single_entries_exactly_as_many_go_as_are_too_many(entries: list[Entry], limit: int, per_channel: int):
    single = [Entry(e.entry_id, e.channel_id) for e in entries]
    assert len(overflow(single, limit, per_channel)) == max(len(single) - limit, 0)


@pytest.mark.spec("ENV-11")
@given(ENTRIES, st.integers(0, 30), st.integers(0, 5))
def test_a_channel_within_its_share_loses_nothing_while_another_has_more(entries, limit, per_channel):
    single = [Entry(e.entry_id, e.channel_id) for e in entries]
    left = [e.channel_id for e in kept(single, limit, per_channel)]
    if any(left.count(channel) > per_channel for channel in left):
        for channel in {
            e.channel_id for e in single if e.channel_id not in left or left.count(e.channel_id) < per_channel
        }:
            before = sum(e.channel_id == channel for e in single)
            assert left.count(channel) >= min(before, per_channel)


def entries(text: str) -> list[Entry]:
    """`a b1` is an entry of channel a and one of channel b in its unit 1."""
    return [Entry(n, word[0], word[1:]) for n, word in enumerate(text.split(), 1)]


@pytest.mark.spec("ENV-11")
@pytest.mark.parametrize(
    ("text", "limit", "per_channel", "gone"),
    [
        pytest.param("a b b b b", 4, 3, [2], id="the oldest of a crowded channel"),
        pytest.param("a a a b b b", 5, 3, [1], id="no crowded channel: the oldest of all"),
        pytest.param("a a a a b b b b", 6, 3, [1, 5], id="each crowded channel in turn"),
        pytest.param("a1 a1 a", 2, 3, [1, 2], id="a call goes with its result"),
        pytest.param("a1 b1 b", 2, 3, [1], id="units of two channels are two"),
        pytest.param("a a", 2, 0, [], id="within the limit nothing goes"),
        pytest.param("a a", 0, 3, [1, 2], id="no history at all"),
        pytest.param("a1 a1 a1", 2, 3, [1, 2, 3], id="a limit smaller than one unit"),
    ],
)
def test_which_entries_go(text: str, limit: int, per_channel: int, gone: list[int]):
    assert overflow(entries(text), limit, per_channel) == gone
