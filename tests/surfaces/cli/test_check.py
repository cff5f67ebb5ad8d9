"""`phasewalk check`: one line and an exit status for cron."""

import pytest
from builders import GONE, LogBuilder
from click.testing import CliRunner

from phasewalk.surfaces.cli.main import main


def answered(builder: LogBuilder, count: int, **columns: object) -> None:
    for _ in range(count):
        builder.effect(builder.turn(**columns), "answer", "general", "receipt", {"text": "hi"})


@pytest.fixture
def check(builder: LogBuilder, tmp_path):
    """The status and the line, by these lines of `[check]`."""

    def called(*lines: str) -> tuple[int, str]:
        file = tmp_path / "phasewalk.toml"
        file.write_text("[check]\n" + "\n".join(lines))
        done = CliRunner().invoke(main, ["--config", str(file), "--db", str(builder.path), "check"])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.stdout.strip() or done.stderr.strip()

    return called


@pytest.mark.spec("OPS-11", "OPS-13")
def test_a_bot_that_is_well_is_one_line_and_status_0(builder: LogBuilder, check):
    answered(builder, 30)
    status, line = check()
    assert (status, line.partition("; ")[0]) == (0, "WELL: 30 of 30 turns of the last 24 h ended as they should")
    assert line.partition("; ")[2] == "turns 30, ended badly 0, running 0, stuck 0, got nothing 0, in doubt 0"


@pytest.mark.spec("OPS-11", "OPS-13")
def test_what_status_calls_not_well_is_status_1(builder: LogBuilder, look, check):
    answered(builder, 20)
    builder.turns(20, outcome="stopped", reason="http_5xx")
    status, line = check()
    assert status == look("status").status == 1
    assert line.startswith(
        "NOT WELL: 20 of 40 turns of the last 24 h ended badly, mostly http_5xx; turns 40, ended badly 20"
    )


@pytest.mark.spec("OPS-11", "OPS-13")
def test_few_turns_are_quiet_beside_a_bot_that_runs_and_cannot_be_told_without_one(builder: LogBuilder, check):
    answered(builder, 3)
    assert check()[0] == 0
    assert check()[1].startswith("QUIET: 3 in the last 24 h, a verdict needs 20")
    builder.process(ended="finished")
    builder.log.execute("UPDATE process SET ended_us = heartbeat_us, end_reason = 'finished' WHERE ended_us IS NULL")
    assert check()[0] == 4
    assert check()[1].startswith("TOO FEW TURNS: 3 in the last 24 h")


LINES = {
    "failed = 0.6": (0, "WELL"),
    "failed = 0.49": (1, "NOT WELL"),
    "turns = 100": (0, "QUIET"),
    'period = "1h"': (0, "QUIET"),
    'newest = "1h"': (1, "NOT WELL"),
    'newest = "3h"': (0, "WELL"),
}


@pytest.mark.spec("OPS-11")
@pytest.mark.parametrize("line", LINES)
def test_thresholds_come_from_the_configuration(builder: LogBuilder, check, line):
    builder.process(age=9000)
    answered(builder, 20, age=7300)
    builder.turns(20, age=7300, outcome="stopped", reason="http_5xx")
    builder.log.execute("UPDATE turn SET addressed = 0")
    status, said = check(line, "unclear = 1.0", *(() if line.startswith("failed") else ("failed = 0.9",)))
    assert (status, said.partition(":")[0]) == LINES[line]


@pytest.mark.spec("OPS-11")
def test_facts_can_be_allowed_or_asked_for(builder: LogBuilder, check):
    answered(builder, 30)
    builder.enter(builder.turn(outcome=None, phase="classify", age=900), "classify", 0)
    builder.effect(builder.turn(outcome="in_doubt", reason="delivery_in_doubt"), "answer", "general", None)
    assert check()[1].startswith("NOT WELL: 1 turn is not moving")
    assert check("stuck = 1")[1].startswith("NOT WELL: 1 effect may or may not have happened")
    assert check("stuck = 1", "in-doubt = 1")[0] == 0
    builder.log.execute("UPDATE process SET ended_us = heartbeat_us, end_reason = 'finished'")
    allowed = ("stuck = 1", "in-doubt = 1")
    assert check(*allowed)[0] == 0
    assert check(*allowed, "running = true")[1].startswith("NOT WELL: no bot is running")


@pytest.mark.spec("OPS-11")
def test_a_silent_process_is_deaf_from_the_configured_time_on(builder: LogBuilder, check):
    builder.process(silent=240)
    answered(builder, 30)
    assert check()[1].startswith("NOT WELL: process ")
    assert check('silent = "5m"')[0] == 0


@pytest.mark.spec("OPS-13")
def test_wrong_thresholds_are_a_mistake_of_usage_and_keep_nobody_from_looking(builder: LogBuilder, check, tmp_path):
    answered(builder, 30)
    assert check("failed = 20")[0] == 2
    done = CliRunner().invoke(main, ["--config", str(tmp_path / "phasewalk.toml"), "--db", str(builder.path), "status"])
    assert (done.exit_code, done.stdout.partition(":")[0]) == (0, "WELL")
    assert "'failed' is a share between 0 and 1, not 20; the usual thresholds are taken" in done.stderr


@pytest.mark.spec("OPS-13")
def test_a_dead_bot_is_status_1_and_a_log_that_cannot_be_read_status_4(builder: LogBuilder, check):
    builder.process(pid=GONE)
    assert check()[0] == 1
    builder.close()
    builder.path.write_text("no database")
    assert check()[0] == 4


@pytest.mark.spec("OPS-14")
def test_the_line_for_programs(builder: LogBuilder, look):
    answered(builder, 30)
    (item,) = look("check", "--json").items
    assert (item["verdict"], item["turns"], item["causes"], item["since"]) == ("WELL", 30, [], None)
