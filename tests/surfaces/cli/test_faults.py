"""The first screen names each of the six faults in a month of a busy bot, and is not alarmed by a healthy one."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from phasewalk.surfaces.cli.main import main

BENCH = Path(__file__).parents[3] / "bench"
AN_EVENING_US = int(datetime(2026, 5, 14, 19, 30, tzinfo=UTC).timestamp()) * 1_000_000
"""When people talk most; at night, an hour of a month this small holds too few turns for a verdict."""

FAULTS = {
    None: (0, "WELL", "ended as they should"),
    "process_dead": (1, "NOT WELL", "died without a word"),
    "ignoring": (1, "NOT WELL", "every message of the last hour is ignored"),
    "hanging": (1, "NOT WELL", "turns are not moving"),
    "failing": (1, "NOT WELL", "turns of the last 24 h ended badly, mostly"),
    "undelivered": (1, "NOT WELL", "were made and not delivered, mostly delivery_forbidden"),
    "canned": (1, "NOT WELL", "got a fixed notice"),
    "canned_texts": (1, "NOT WELL", "answers of the last hour are the same words"),
    "almost_empty": (4, "TOO FEW TURNS", "a verdict needs 20"),
}


@pytest.mark.spec("OPS-11", "OPS-13")
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_month_is_judged_by_what_it_suffers_from(tmp_path, monkeypatch, fault):
    monkeypatch.syspath_prepend(str(BENCH))
    from simulate import simulate

    path = tmp_path / "month.db"
    simulate(path, 4000, seed=4, fault=fault, now_us=AN_EVENING_US)
    monkeypatch.setattr("phasewalk.surfaces.cli.status.now_us", lambda: AN_EVENING_US)
    done = CliRunner().invoke(main, ["--db", str(path), "status"])
    word, _, why = done.stdout.splitlines()[0].partition(": ")
    status, expected, piece = FAULTS[fault]
    assert (done.exit_code, word) == (status, expected)
    assert piece in why
    assert done.stdout.splitlines()[-1].startswith("next: phasewalk ")
