"""What a shell offers behind Tab."""

import os
import shutil
import subprocess
import sys

import pytest
from builders import LogBuilder


def offered(builder: LogBuilder, *words: str) -> list[str]:
    """What bash would show behind the last word."""
    line = ["phasewalk", "--db", str(builder.path), *words]
    environment = {**os.environ, "_PHASEWALK_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(line)}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['phasewalk']\nfrom phasewalk.surfaces.cli.main import run; run()"],
        check=True, env={**environment, "COMP_CWORD": str(len(line) - 1)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.mark.spec("OPS-16")
def test_commands_and_options_are_offered(builder: LogBuilder):
    assert offered(builder, "sta") == ["status", "stats"]
    assert offered(builder, "list", "--out") == ["--outcome"]


@pytest.mark.spec("OPS-16", "OPS-10")
@pytest.mark.parametrize("command", ["show", "why", "diff", "diagram --turn"])
def test_names_of_turns_are_offered(builder: LogBuilder, command):
    older, newer = builder.turn(age=90_000), builder.turn(age=10)
    assert offered(builder, *command.split(), "la") == ["last"]
    assert offered(builder, *command.split(), older[:7]) == [older]
    assert offered(builder, *command.split(), newer[0]) == [newer, older]


@pytest.mark.spec("OPS-16")
def test_values_of_filters_are_offered(builder: LogBuilder):
    builder.turn(channel_name="help")
    assert offered(builder, "list", "--outcome", "un") == ["unavailable", "unclear", "undelivered"]
    assert offered(builder, "list", "--reason", "candidates") == ["candidates_exhausted"]
    assert offered(builder, "list", "--phase", "re") == ["received", "record"]
    for command in ("list", "tail", "search"):
        assert offered(builder, command, "--channel", "h") == ["help"]


@pytest.mark.spec("OPS-16")
def test_a_log_that_cannot_be_read_offers_nothing_and_says_nothing(builder: LogBuilder):
    builder.close()
    builder.path.write_text("no database")
    assert offered(builder, "show", "la") == []


@pytest.mark.spec("OPS-16")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_understands(look, shell, tmp_path):
    answer = look("completion", shell)
    assert answer.status == 0
    assert f"_PHASEWALK_COMPLETE={shell}_complete" in answer.out
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(answer.out)
        subprocess.run([shell, "-n", str(script)], check=True)


@pytest.mark.spec("OPS-16")
def test_another_shell_is_refused_with_those_that_there_are(look):
    answer = look("completion", "ksh")
    assert answer.status == 2
    assert "'bash', 'zsh', 'fish'" in answer.err
