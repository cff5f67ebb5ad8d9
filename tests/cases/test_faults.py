"""A sample of `bench/faults.py`: turns against a provider of whose answers 30 % are faults (BAR-22)."""

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
KEY = "FAULTS_KEY"


@pytest.fixture
def faults(monkeypatch):
    """The program as a module, its neighbours importable, and its key in the environment for this test alone."""
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv(KEY, "")
    import faults

    yield faults
    sys.modules.pop("phasewalk_tools_from_ledger_tools", None)


@pytest.mark.spec("BAR-22")
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_of_turns_with_faults_each_ends_well(tmp_path, faults, api):
    result = await faults.run(tmp_path, seed=22, turns=60, api=api)
    assert result.wrong == ()
    assert result.turns == sum(result.outcomes.values()) == 60
    assert result.answers - result.faults["none"] > 20
