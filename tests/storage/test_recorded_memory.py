"""What a turn could read at its time, read later."""

import pytest
from builders import LogBuilder

from phasewalk.storage.recorded_memory import RecordedMemory
from phasewalk.storage.recorded_turn import recorded_turn


def said(builder: LogBuilder, turn: str, text: str, **columns: object) -> None:
    values = {"turn_id": turn, "channel_id": "200", "role": "user", "author_id": "77", "author": "mira"}
    builder.insert("message", text=text, at_us=1, **{**values, **columns})


@pytest.fixture
def memory(builder: LogBuilder):
    """The memory of a turn that began a minute ago, behind one that had ended, beside one that had just ended."""
    for text, age, took in (("before", 90, 5), ("beside", 70, 9.9995)):
        said(builder, builder.turn(age=age, took=took), text)
    own = builder.turn(age=60, took=5)
    said(builder, own, "own")
    said(builder, builder.turn(age=50, took=1), "behind")

    def made(proof=lambda _window: True) -> RecordedMemory:
        return RecordedMemory(builder.log, recorded_turn(builder.log, own), lambda: builder.at(60), proof)

    return made


async def texts(memory: RecordedMemory) -> list[str]:
    return [entry.text for entry in await memory.window()]


@pytest.mark.spec("ENV-07", "OPS-13")
async def test_the_window_holds_what_had_ended_and_nothing_younger(memory):
    assert await texts(memory()) == ["before", "beside"]


@pytest.mark.spec("ENV-07", "OPS-13")
async def test_a_turn_that_ended_just_then_and_was_not_seen_yet_is_left_out_where_the_prompt_proves_it(memory):
    assert await texts(memory(lambda window: len(window) == 1)) == ["before"]


@pytest.mark.spec("ENV-07", "OPS-13")
async def test_where_no_moment_is_proved_the_likeliest_is_taken(memory):
    assert await texts(memory(lambda _window: False)) == ["before", "beside"]


@pytest.mark.spec("ENV-11", "OPS-13")
async def test_what_was_trimmed_later_was_in_the_window_still(builder: LogBuilder, memory):
    builder.log.execute("UPDATE message SET trimmed_us = ? WHERE text = 'before'", (builder.at(30),))
    builder.log.execute("UPDATE message SET trimmed_us = ? WHERE text = 'beside'", (builder.at(65),))
    assert await texts(memory()) == ["before"]


@pytest.mark.spec("CON-03", "OPS-13")
async def test_earlier_turns_are_those_that_had_ended(memory):
    assert [turn.text for turn in await memory().earlier("77", "200", 6)] == ["before", "beside"]
