"""A sample of what `bench/discord_faults.py` does: Discord fails in every way, each question is answered once (BAR-23)."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "bench"))

from discord_faults import run


@pytest.mark.spec("BAR-23", "DIS-03", "DIS-07")
@pytest.mark.parametrize("seed", [23, 4])
async def test_whatever_discord_does_each_question_is_answered_once(tmp_path, seed):
    result = await run(tmp_path, questions=50, seed=seed)
    assert result.wrong == []
    assert sum(result.faults.values()) > 10
