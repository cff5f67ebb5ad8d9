"""Whether a window can have been the one that a recorded prompt came from."""

import pytest

from phasewalk.machine.exchange import HistoryEntry
from phasewalk.storage.recorded_turn import Moment, RecordedTurn, Stay, Text
from phasewalk.surfaces.replay.shown import proves, shown_in

AT = Moment(1, 1.0)


def stay(phase: str, event: str, **detail: object) -> Stay:
    return Stay(phase, 1, AT, AT, None, event, None, "T", "", [], {}, detail)


def record(*stays: Stay) -> RecordedTurn:
    return RecordedTurn({"channel_id": "1"}, Text("", ""), list(stays), [], [], [], [], None)


def window(*numbers: int, channel: str = "1") -> list[HistoryEntry]:
    return [HistoryEntry("user", "x", entry_id=number, channel_id=channel) for number in numbers]


BUILT = stay("build_prompt", "prompt_built", prompt={"history": [[1, 2], [4, 4]]})
ASKED = stay("model_attempt", "attempt_failed")


@pytest.mark.spec("ENV-36", "OPS-13")
@pytest.mark.parametrize(("numbers", "proved"), [((1, 2, 4), True), ((1, 2), False), ((1, 2, 4, 5), False)])
def test_the_entries_of_the_channel_are_those_that_were_shown(numbers, proved):
    assert proves(record(BUILT), 0, [*window(*numbers), *window(3, channel="2")]) is proved


@pytest.mark.spec("ENV-30", "OPS-13")
def test_a_smaller_prompt_showed_the_younger_half_and_one_without_history_none():
    half = stay("build_prompt", "prompt_built", prompt={"history": [[3, 4]]})
    assert proves(record(BUILT, ASKED, half), 2, window(1, 2, 3, 4))
    assert not proves(record(BUILT, ASKED, half), 2, window(3, 4))
    nothing = stay("build_prompt", "prompt_too_large", history=0)
    assert proves(record(BUILT, ASKED, nothing), 2, [])
    assert not proves(record(BUILT, ASKED, nothing), 2, window(1))


@pytest.mark.spec("OPS-13")
def test_a_visit_without_a_prompt_proves_nothing_and_all_prompts_tell_what_was_shown():
    assert proves(record(ASKED), 0, window(9))
    assert shown_in(record(BUILT, ASKED, stay("build_prompt", "prompt_built", prompt={"history": [[4, 4]]}))) == [
        1,
        2,
        4,
    ]
