"""A sample of `bench/secret_leaks.py`: secrets are planted wherever text comes in, and searched for (BAR-26)."""

import sys
from pathlib import Path

import pytest

from phasewalk.machine.redaction import Redactor

BENCH = Path(__file__).parents[2] / "bench"
TURNS = 45
"""Each scene comes up at least once."""


@pytest.fixture
def secret_leaks(monkeypatch):
    """The program as a module, its neighbours importable."""
    monkeypatch.syspath_prepend(str(BENCH))
    import secret_leaks

    yield secret_leaks
    sys.modules.pop("phasewalk_tools_from_secret_tools", None)


@pytest.mark.spec("BAR-26", "LOG-10")
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_no_planted_secret_is_found_and_every_canary_is(tmp_path, secret_leaks, api):
    result = await secret_leaks.run(tmp_path, seed=26, turns=TURNS, api=api)
    assert secret_leaks.is_well(result), "\n".join(secret_leaks.report(result))


@pytest.mark.spec("BAR-26", "LOG-10")
async def test_without_redaction_the_same_run_reports_leaks_at_every_place(tmp_path, secret_leaks, monkeypatch):
    monkeypatch.setattr(Redactor, "__call__", lambda self, text: text)
    result = await secret_leaks.run(tmp_path, seed=26, turns=TURNS)
    kept_nowhere = {place for place, api in secret_leaks.UNHEARD if api == "chat"}
    apart = (secret_leaks.CANARY, "key of the provider")  # what stays, and what cannot be told by its place
    planted = {place for place, shape in result.mint.planted if not shape.startswith(apart)}
    assert not secret_leaks.is_well(result)
    assert planted - {secret.place for _, secret in result.leaks} <= kept_nowhere
