"""A sample of the kill matrix: real processes that kill themselves at every kind of place (BAR-20, TURN-15)."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))

from kills import AROUND, Kill, Result, Trial, answer, configured, tried

from phasewalk.phases.providers.testing import ScriptedModelServer

PLACES = [
    *((Kill(place, 1), "tool") for place in AROUND),
    (Kill("after_send", 2), "two_parts"),
    (Kill("before_commit", 4), "plain"),
    (Kill("after_commit", 9), "tool"),
]


@pytest.mark.spec("BAR-20", "TURN-15", "TURN-14")
@pytest.mark.parametrize(("kill", "story"), PLACES, ids=str)
async def test_whatever_a_process_was_doing_when_it_died_nothing_happens_twice(tmp_path, kill, story):
    result = Result()
    async with ScriptedModelServer(answer) as server:
        configured(tmp_path, server.base_url)
        await tried(tmp_path, Trial(1, story, (kill,), "remembered"), result)
    assert result.killed == {kill.place: 1}, "the process must have come to that place"
    assert result.wrong == []
