"""Tool modules that lie beside the configuration file."""

import importlib
import sys
from pathlib import Path

import pytest

from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.tooling import ToolContext
from phasewalk.phases.tools.modules import load_modules

CONTEXT = ToolContext("turn-1", "7", "Ana", "9", "general", "1", 0)
FORECAST = """
from phasewalk.phases.tools import tool

@tool(family="weather", effect="read_only", timeout=10)
async def forecast(city: str, days: int = 1) -> dict:
    "Forecast for a city."
    return {"city": city, "days": days}
"""


@pytest.fixture(autouse=True)
def _own_import_path(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_a_module_beside_the_configuration_is_found(tmp_path: Path):
    (tmp_path / "my_tools.py").write_text(FORECAST)
    info = load_modules(["my_tools"], tmp_path).all()["forecast"]
    assert (info.family, info.mutating, info.schema.description) == ("weather", False, "Forecast for a city.")


async def test_its_tools_run(tmp_path: Path):
    (tmp_path / "my_tools.py").write_text(FORECAST)
    registry = load_modules(["my_tools"], tmp_path)
    assert await registry.run("forecast", '{"city":"Rome"}', CONTEXT) == {"city": "Rome", "days": 1}


def test_a_module_called_like_one_of_the_standard_library_is_found(tmp_path: Path):
    (tmp_path / "calendar.py").write_text(FORECAST)
    assert list(load_modules(["calendar"], tmp_path).all()) == ["forecast"]
    assert hasattr(importlib.import_module("calendar"), "monthrange")


def test_a_package_with_relative_imports_is_found(tmp_path: Path):
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "weather.py").write_text(FORECAST)
    (tmp_path / "kit" / "__init__.py").write_text("from .weather import forecast\n")
    assert list(load_modules(["kit"], tmp_path).all()) == ["forecast"]


def test_a_module_may_import_its_neighbours_and_their_tools_are_not_its_own(tmp_path: Path):
    (tmp_path / "neighbour_for_tools.py").write_text(FORECAST.replace("forecast", "other"))
    (tmp_path / "my_tools.py").write_text("from neighbour_for_tools import other\n" + FORECAST)
    assert list(load_modules(["my_tools"], tmp_path).all()) == ["forecast"]


def test_no_modules_make_an_empty_registry(tmp_path: Path):
    assert load_modules([], tmp_path).tools == ()


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("import nothing_of_that_name", "cannot be imported: ModuleNotFoundError: No module named"),
        ("def broken(:", "cannot be imported: SyntaxError: invalid syntax"),
        ("import sys; sys.exit(2)", "cannot be imported: SystemExit: 2"),
        ("raise ValueError('a\\nb')", "cannot be imported: ValueError: a b"),
        ("x = 1", "'my_tools' declares no tool; decorate a function"),
        (FORECAST.replace("city: str", "city"), "tool forecast: parameter 'city' has no annotation"),
        (FORECAST.replace("city: str", "*city: str"), "cannot be passed by name"),
        (FORECAST.replace("read_only", "reading"), "effect 'reading' is unknown"),
    ],
)
def test_a_module_that_cannot_be_used_is_named_in_one_sentence(tmp_path: Path, source, problem):
    (tmp_path / "my_tools.py").write_text(source)
    with pytest.raises(ConfigurationError, match=problem) as raised:
        load_modules(["my_tools"], tmp_path)
    assert "'my_tools'" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_module_is_told_with_the_places_looked_at(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"'my_tools' was not found: neither .*my_tools\.py nor"):
        load_modules(["my_tools"], tmp_path)


@pytest.mark.parametrize("name", ["../evil", "my-tools", "", "a..b"])
def test_a_name_that_is_no_module_name_is_refused(tmp_path: Path, name):
    with pytest.raises(ConfigurationError, match="is not a module name"):
        load_modules([name], tmp_path)


def test_the_same_tool_in_two_modules_is_refused(tmp_path: Path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(FORECAST)
    with pytest.raises(ConfigurationError, match="two tools are called 'forecast'"):
        load_modules(["one", "two"], tmp_path)
