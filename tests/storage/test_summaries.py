"""What left the window of a channel waits for a summary, and the newest summary stands for what it covers."""

import pytest

from phasewalk.machine.records import HistoryTrimmed, Said, Summarised
from phasewalk.storage.history import SUMMED_AT_ONCE, SqliteMemory


class Channels:
    """A turn that says things in channels, brings the window back to its limits, and keeps summaries."""

    def __init__(self, log, turn) -> None:
        self.log = log
        self.turn = turn
        self.memory = SqliteMemory(log.reader)

    async def say(self, *texts: str, channel: str = "2", state: str | None = None) -> None:
        await self.turn.write(*(Said(channel, "user", "3", "ann", text, 10, state=state) for text in texts))

    async def trim(self, limit: int, per_channel: int = 0) -> None:
        await self.turn.write(HistoryTrimmed(limit, per_channel, 20))

    async def gone(self, *texts: str, **said: object) -> None:
        """Said, and out of the window."""
        await self.say(*texts, **said)
        await self.trim(0)

    async def sum_up(self, upto: int, text: str = "In short.", channel: str = "2") -> None:
        await self.turn.write(Summarised(channel, upto, text, 30))

    async def waiting(self, channel: str = "2") -> list[str]:
        return [entry.text for entry in await self.memory.unsummed(channel)]

    def queue(self) -> list[tuple]:
        return self.log.rows("SELECT channel_id, first_entry_id, entries FROM summary_queue ORDER BY channel_id")


@pytest.fixture
async def channels(log) -> Channels:
    return Channels(log, await log.turn("turn-1"))


@pytest.mark.spec("ENV-31")
async def test_what_stands_in_the_window_waits_for_no_summary(channels: Channels):
    await channels.say("one", "two")
    await channels.trim(2)
    assert (channels.queue(), await channels.waiting()) == ([], [])


@pytest.mark.spec("ENV-31")
async def test_what_leaves_the_window_waits_in_the_order_in_which_it_was_said(channels: Channels):
    await channels.say("one", "two", "three", "four")
    await channels.trim(1)
    assert await channels.waiting() == ["one", "two", "three"]
    assert channels.queue() == [("2", 1, 3)]


@pytest.mark.spec("ENV-31")
async def test_what_leaves_later_is_counted_in_and_the_first_entry_stays_the_first(channels: Channels):
    await channels.gone("one", "two")
    await channels.gone("three")
    assert channels.queue() == [("2", 1, 3)]
    assert await channels.waiting() == ["one", "two", "three"]


@pytest.mark.spec("ENV-31")
async def test_each_channel_has_its_own_queue(channels: Channels):
    await channels.say("one", channel="a")
    await channels.say("two", "three", channel="b")
    await channels.trim(0)
    assert channels.queue() == [("a", 1, 1), ("b", 2, 2)]
    assert [await channels.waiting("a"), await channels.waiting("b")] == [["one"], ["two", "three"]]


@pytest.mark.spec("ENV-31")
@pytest.mark.parametrize(("after", "due"), [(2, (1, 3)), (3, (1, 3)), (4, None)])
async def test_a_summary_is_due_when_as_many_entries_wait_as_were_asked_for(channels: Channels, after, due):
    await channels.gone("one", "two", "three")
    assert channels.memory.summary_due("2", after) == due


@pytest.mark.spec("ENV-31")
async def test_in_a_channel_of_which_nothing_left_the_window_no_summary_is_due(channels: Channels):
    await channels.gone("one", "two", "three")
    assert channels.memory.summary_due("3", 1) is None
    assert await channels.waiting("3") == []


@pytest.mark.spec("ENV-31", "ENV-32")
@pytest.mark.parametrize(("state", "seen"), [(None, ["text"]), ("sent", ["text"]), ("failed", []), ("in_doubt", [])])
async def test_only_what_people_saw_is_summed_up(channels: Channels, state, seen):
    await channels.gone("text", state=state)
    assert await channels.waiting() == seen


@pytest.mark.spec("ENV-31")
async def test_a_summary_takes_what_it_covers_off_the_queue(channels: Channels):
    await channels.gone("one", "two")
    await channels.sum_up(upto=2)
    assert (channels.queue(), await channels.waiting()) == ([], [])
    assert channels.memory.summary_due("2", 1) is None


@pytest.mark.spec("ENV-31")
async def test_what_left_the_window_while_a_summary_was_made_goes_on_waiting(channels: Channels):
    await channels.gone("one", "two")
    await channels.gone("three", "four")
    await channels.sum_up(upto=2)
    assert channels.queue() == [("2", 3, 2)]
    assert await channels.waiting() == ["three", "four"]


@pytest.mark.spec("ENV-31")
async def test_what_still_stands_in_the_window_is_not_queued_by_a_summary(channels: Channels):
    await channels.gone("one")
    await channels.say("two")
    await channels.sum_up(upto=1)
    assert channels.queue() == []


@pytest.mark.spec("ENV-31")
async def test_what_leaves_after_a_summary_waits_for_the_next_one_alone(channels: Channels):
    await channels.gone("one", "two")
    await channels.sum_up(upto=2)
    await channels.gone("three")
    assert channels.queue() == [("2", 3, 1)]
    assert await channels.waiting() == ["three"]


@pytest.mark.spec("ENV-31")
async def test_a_summary_of_one_channel_leaves_the_queues_of_others_alone(channels: Channels):
    await channels.gone("one", channel="a")
    await channels.gone("two", channel="b")
    await channels.sum_up(upto=2, channel="b")
    assert channels.queue() == [("a", 1, 1)]


@pytest.mark.spec("ENV-31")
async def test_so_many_entries_at_once_are_summed_up_and_the_others_wait_for_the_next_summary(channels: Channels):
    await channels.gone(*(f"text {number}" for number in range(1, SUMMED_AT_ONCE + 4)))
    assert (await channels.waiting())[-1] == "text 200"
    await channels.sum_up(upto=200)
    assert await channels.waiting() == ["text 201", "text 202", "text 203"]
    assert channels.queue() == [("2", 201, 3)]


@pytest.mark.spec("ENV-31")
async def test_a_channel_without_a_summary_has_none(channels: Channels):
    await channels.gone("one")
    assert await channels.memory.summary("2") is None


@pytest.mark.spec("ENV-31")
async def test_the_newest_summary_of_a_channel_is_shown(channels: Channels):
    await channels.gone("one", "two")
    await channels.sum_up(upto=1, text="They spoke of one.")
    await channels.sum_up(upto=2, text="They spoke of one and two.")
    await channels.sum_up(upto=9, text="Elsewhere.", channel="3")
    assert await channels.memory.summary("2") == "They spoke of one and two."


@pytest.mark.spec("ENV-31")
async def test_the_summary_that_covers_most_is_shown_whatever_was_written_last(channels: Channels):
    await channels.gone("one", "two")
    await channels.sum_up(upto=2, text="They spoke of one and two.")
    await channels.sum_up(upto=1, text="They spoke of one.")
    assert await channels.memory.summary("2") == "They spoke of one and two."


@pytest.mark.spec("ENV-31")
async def test_of_summaries_that_cover_the_same_the_last_is_shown(channels: Channels):
    await channels.gone("one")
    await channels.sum_up(upto=1, text="First try.")
    await channels.sum_up(upto=1, text="Second try.")
    assert await channels.memory.summary("2") == "Second try."


@pytest.mark.spec("ENV-31", "ENV-36")
async def test_what_was_summed_up_stays_in_the_log_with_the_turn_that_summed_it_up(log, channels: Channels):
    await channels.gone("one", "two")
    await channels.sum_up(upto=2, text="They counted.")
    assert log.rows("SELECT text, trimmed_us FROM message ORDER BY entry_id") == [("one", 20), ("two", 20)]
    assert log.rows("SELECT channel_id, upto_entry_id, turn_id, text, at_us FROM summary") == [
        ("2", 2, "turn-1", "They counted.", 30),
    ]  # fmt: skip


@pytest.mark.spec("ENV-31", "LOG-10")
async def test_a_summary_is_stored_without_secrets(channels: Channels):
    await channels.gone("one")
    await channels.sum_up(upto=1, text="Ann's key is sk-0123456789abcdefghij.")
    assert await channels.memory.summary("2") == "Ann's key is [redacted]."
