"""`[check]` of the configuration: what may stand there, and one sentence about what may not."""

import pytest

from phasewalk.storage.health import HOUR_US
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.thresholds import Thresholds, thresholds_of


@pytest.mark.spec("OPS-11")
def test_each_key_sets_its_threshold():
    keys = {
        "period": "6h", "turns": 5, "turns-lately": 3, "failed": 0.5, "unclear": 0, "canned": 1, "stuck": 2,
        "in-doubt": 1, "silent": "10m", "newest": "2d", "running": True,
    }  # fmt: skip
    assert thresholds_of(keys) == Thresholds(
        6 * HOUR_US, 5, 3, 0.5, 0.0, 1.0, 2, 1, HOUR_US // 6, 48 * HOUR_US, running=True
    )
    assert len(keys) == len(Thresholds._fields)
    assert thresholds_of({}) == Thresholds()


WRONG = {
    '"period" = 6': "'period' is a span such as '24h', not 6",
    'period = "6 hours"': "'period' is a span such as '24h', not '6 hours'",
    'period = "0h"': "'period' is a span such as '24h', not '0h'",
    "failed = 20": "'failed' is a share between 0 and 1, not 20",
    "failed = nan": "'failed' is a share between 0 and 1, not nan",
    "stuck = -1": "'stuck' is a whole number of at least 0, not -1",
    "stuck = 1.5": "'stuck' is a whole number of at least 0, not 1.5",
    "turns = true": "'turns' is a whole number of at least 0, not True",
    "running = 1": "'running' is true or false, not 1",
    "stuk = 1": "unknown key 'stuk'; did you mean 'stuck'?",
    "zzz = 1": "unknown key 'zzz'; known are period, turns, turns-lately, failed",
}


@pytest.mark.spec("OPS-11")
@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_value_is_one_sentence_wherever_the_file_is_read(tmp_path, line):
    file = tmp_path / "phasewalk.toml"
    file.write_text(f"[check]\n{line}\n")
    with pytest.raises(Exception, match="check") as raised:
        load_configuration(file)
    assert WRONG[line] in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_a_configuration_without_it_has_the_usual_ones_and_can_be_written_down(tmp_path):
    file = tmp_path / "phasewalk.toml"
    file.write_text("[check]\nturns = 3\n")
    configuration = load_configuration(file)
    assert configuration.check == Thresholds(turns=3)
    assert configuration.model_dump(mode="json", by_alias=True)["check"]["turns"] == 3
