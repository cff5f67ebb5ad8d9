"""What the README shows is what happens (OPS-03)."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from phasewalk.phases.tools.modules import load_modules
from phasewalk.surfaces import thresholds
from phasewalk.surfaces.sections import Configuration

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def sessions() -> list[tuple[str, str]]:
    """Each command of the console blocks with the output shown under it."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.spec("OPS-03")
def test_the_commands_of_the_readme_print_what_it_shows(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    assert len(sessions()) >= 5
    for command, shown in sessions():
        program, *arguments = shlex.split(command)
        assert program == "phasewalk"
        done = subprocess.run(
            [sys.executable, "-m", "phasewalk.surfaces.cli", *arguments],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, (command, done.stderr)
        if shown:
            assert done.stdout == shown, command


@pytest.mark.spec("OPS-03")
def test_the_tool_of_the_readme_can_be_loaded(tmp_path):
    (block,) = blocks("python")
    (tmp_path / "my_tools.py").write_text(block, "utf-8")
    registry = load_modules(["my_tools"], tmp_path)
    (tool,) = registry.all().values()
    assert (tool.schema.name, tool.family, tool.mutating, tool.timeout) == ("forecast", "weather", False, 10)
    assert registry.problem_with("forecast", '{"city": "Berlin"}') is None


@pytest.mark.spec("OPS-03")
def test_every_file_that_the_readme_links_to_is_there():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert len(links) >= 8
    assert [link for link in links if not (ROOT / link).exists()] == []


def documented_keys() -> list[str]:
    rows = re.findall(r"^\| (`[^|]*`) \|", README, re.MULTILINE)
    return [key for row in rows for key in re.findall(r"`(?:\[+[\w.]+\]+ )?([a-z][a-z-]*)", row)]


@pytest.mark.spec("OPS-03")
def test_every_key_of_the_configuration_table_exists():
    known = {str(f.alias) for section in _sections() for f in section.model_fields.values()}
    known |= thresholds.KEYS.keys()
    assert [key for key in documented_keys() if key not in known] == []


def _sections():
    from phasewalk.surfaces import sections

    return [s for s in vars(sections).values() if isinstance(s, type) and issubclass(s, sections.Section)]


@pytest.mark.spec("OPS-03")
def test_the_defaults_of_the_table_are_those_of_the_code():
    bot, limits = Configuration().bot, Configuration().limits
    assert f"| {bot.history_limit}, {bot.history_per_channel} |" in README
    assert f"| {limits.attempts}, {limits.backoff}, {limits.backoff_cap} |" in README
    assert f"| {limits.turn:g}, {limits.model_call:g}, {limits.tool:g}, {limits.delivery_grace:g} |" in README
