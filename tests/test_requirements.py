"""The register of requirements and the tests agree (BAR-32)."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REGISTER = {
    f"{area}-{number}": (state, text)
    for area, entries in tomllib.loads((HERE / "requirements.toml").read_text("utf-8")).items()
    for number, (state, text) in entries.items()
}


def named() -> Iterator[tuple[str, str]]:
    """Each requirement id that a test names, with the file."""
    for path in sorted(HERE.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "spec":
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        yield str(argument.value), str(path.relative_to(HERE))


@pytest.mark.spec("BAR-32")
def test_every_id_that_a_test_names_is_in_the_register():
    unknown = {f"{name} in {path}" for name, path in named() if name not in REGISTER}
    assert unknown == set()


@pytest.mark.spec("BAR-32")
def test_what_is_done_or_begun_is_named_by_a_test():
    covered = {name for name, _ in named()}
    assert [name for name, (state, _) in REGISTER.items() if state in ("done", "part") and name not in covered] == []


@pytest.mark.spec("BAR-32")
def test_what_is_still_open_is_named_by_no_test():
    covered = {name for name, _ in named()}
    assert [name for name, (state, _) in REGISTER.items() if state == "open" and name in covered] == []


@pytest.mark.spec("BAR-32")
def test_states_are_of_the_four_kinds():
    assert {state for state, _ in REGISTER.values()} <= {"done", "part", "open", "bench"}
