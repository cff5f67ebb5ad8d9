"""`phasewalk report`: where the page goes, which period it is about, what keeps it from being made (OPS-20)."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
from builders import LogBuilder
from report_logs import XHTML, failing, parsed, words

PROGRAM = (sys.executable, "-m", "phasewalk.surfaces.cli")
HEAVY = ("openai", "discord", "pydantic", "transitions", "sqlite_utils", "asyncio")


def header(text: str) -> str:
    """What stands above the sections."""
    return words(next(parsed(text).iter(f"{XHTML}header")))


@pytest.mark.spec("OPS-20")
def test_the_page_is_written_to_the_file_and_nothing_is_said(builder: LogBuilder, look, tmp_path):
    """Status 0 also when the bot is not well."""
    failing(builder)
    answer = look("report", "--output", str(tmp_path / "report.html"), "--utc")
    assert (answer.status, answer.out, answer.err) == (0, "", "")
    assert "NOT WELL" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.spec("OPS-20", "OPS-14")
def test_piped_the_page_is_utf_8_whatever_the_locale(builder: LogBuilder, tmp_path):
    """The page says that it is UTF-8, so it is."""
    failing(builder)
    builder.turn(user_name="漢字", outcome="stopped", reason="timed_out")
    done = subprocess.run(
        [*PROGRAM, "--db", str(builder.path), "report"],
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout.startswith(b"<!DOCTYPE html>\n")
    assert "漢字" in done.stdout.decode("utf-8")


@pytest.mark.spec("OPS-20", "OPS-13")
def test_a_terminal_is_told_to_name_a_file(builder: LogBuilder):
    """A page of HTML is nothing to look at there."""
    master, slave = pty.openpty()
    done = subprocess.run(
        [*PROGRAM, "--db", str(builder.path), "report"], check=False, stdout=slave, stderr=subprocess.PIPE, text=True
    )
    os.close(slave)
    os.close(master)
    assert done.returncode == 2
    assert "a page is nothing for a terminal; say where it goes with --output FILE" in done.stderr


@pytest.mark.spec("OPS-20", "OPS-14")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_one_sentence(builder: LogBuilder):
    """As for every command that looks."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*PROGRAM, "--db", str(builder.path), "report"], check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (
        4, "phasewalk: standard output cannot be written (No space left on device)\n",
    )  # fmt: skip


@pytest.mark.spec("OPS-20", "OPS-14")
def test_a_reader_that_goes_away_is_no_error(builder: LogBuilder):
    """`phasewalk report | head -1` says the first line and nothing else."""
    failing(builder)
    with subprocess.Popen(
        [*PROGRAM, "--db", str(builder.path), "report"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        os.read(running.stdout.fileno(), 10)
        running.stdout.close()
        said = running.stderr.read()
        assert (running.wait(), said) == (0, b"")


@pytest.mark.spec("OPS-20", "OPS-13")
def test_a_file_that_cannot_be_written_is_one_sentence(look, tmp_path):
    """Status 2: another file can be named."""
    answer = look("report", "--output", str(tmp_path / "missing" / "report.html"))
    assert answer.status == 2
    assert answer.err.endswith("report.html: cannot be written (No such file or directory)\n")


@pytest.mark.spec("OPS-20", "OPS-13")
@pytest.mark.parametrize("text", [None, "hello " * 1000], ids=["missing", "no database"])
def test_a_log_that_cannot_be_read_leaves_no_page(process, tmp_path, text):
    """Status 4, one sentence, and the file is not touched."""
    log, page = tmp_path / "other.db", tmp_path / "report.html"
    if text is not None:
        log.write_text(text)
    answer = process("report", "-o", str(page), path=log)
    assert (answer.status, answer.out) == (4, "")
    assert answer.err.startswith(f"phasewalk: {log}: ")
    assert not page.exists()


@pytest.mark.spec("OPS-20")
def test_without_since_it_is_about_the_day_before_its_end(look):
    """A day before `--until`, in the zone that was asked for."""
    text = look("report", "--until", "2026-11-30T12:00", "--tz", "Europe/Berlin").out
    assert "Turns from 2026-11-29 12:00:00 to 2026-11-30 12:00:00 Europe/Berlin." in header(text)


@pytest.mark.spec("OPS-20")
def test_since_and_until_are_the_period(builder: LogBuilder, look):
    """A turn before it, one in it, one after it: one is counted."""
    for age in (7200, 3600, 60):
        builder.turn(age=age)
    text = look("report", "--since", "90m", "--until", "30m", "--utc").out
    assert "1 in this period, a verdict needs 20" in words(parsed(text))


@pytest.mark.spec("OPS-20", "OPS-13")
@pytest.mark.parametrize("options", [("--since", "2026-11-30", "--until", "2026-11-29"), ("--since", "2099-01-01")], ids=" ".join)  # fmt: skip
def test_a_period_that_ends_before_it_begins_is_refused(look, options):
    """Status 2, with what would be accepted."""
    answer = look("report", *options)
    assert answer.status == 2
    assert "the period ends before it begins; --since must lie before --until and before now" in answer.err


@pytest.mark.spec("OPS-20")
def test_so_many_turns_are_shown_as_are_asked_for(builder: LogBuilder, look):
    """Ten without the option, and none at all with `--turns 0`."""
    failing(builder)
    for options, count in (((), 10), (("--turns", "3"), 3), (("--turns", "0"), 0)):
        assert look("report", *options).out.count("<article ") == count


@pytest.mark.spec("OPS-20")
def test_two_runs_differ_in_one_line(builder: LogBuilder, look):
    """Nothing but when the page was made."""
    failing(builder)
    one = look("report").lines
    time.sleep(0.01)
    other = look("report").lines
    assert [a.startswith('<p class="made">') for a, b in zip(one, other, strict=True) if a != b] in ([], [True])


@pytest.mark.spec("OPS-20", "OPS-15")
def test_a_report_imports_nothing_heavy(builder: LogBuilder):
    """Neither the model client nor Discord nor the state machine."""
    failing(builder)
    code = (
        "import sys\nfrom phasewalk.surfaces.cli.main import main\n"
        "try: main(sys.argv[1:], standalone_mode=False)\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--db", str(builder.path), "report"], check=True, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.spec("OPS-20", "OPS-15")
def test_a_report_changes_nothing_of_the_log(builder: LogBuilder, process, tmp_path):
    """The file has the same bytes afterwards, and may be one that cannot be written."""
    failing(builder)
    builder.close()
    before = builder.path.read_bytes()
    builder.path.chmod(0o444)
    assert process("report").status == 0
    assert builder.path.read_bytes() == before
