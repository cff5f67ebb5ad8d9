"""Who may import whom, and that the package lists what it holds (BAR-30)."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PARTS = ("machine", "phases", "storage", "surfaces")
MAY_IMPORT = {
    "machine": {"machine"},
    "phases": {"machine", "phases"},
    "storage": {"machine", "storage"},
    "surfaces": set(PARTS),
}
ONLY_IN = {
    "transitions": ("machine/engine.py",),
    "openai": ("phases/providers/",),
    "discord": ("surfaces/",),
    "sqlite_utils": ("storage/",),
    "sqlite3": ("storage/", "surfaces/"),
}
LIBRARIES_OF_MACHINE = {"attrs", "transitions"}
PHASES = {path.stem for path in (ROOT / "phases").glob("*.py")} & {
    "received", "classify", "freeze_contract", "build_prompt", "model_attempt", "tool_rounds", "validate_envelope", "deliver", "record",
}  # fmt: skip


def modules() -> list[Path]:
    return [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def here(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.spec("BAR-30")
@pytest.mark.parametrize("path", modules(), ids=here)
def test_a_part_imports_only_what_lies_below_it(path: Path):
    allowed = MAY_IMPORT[path.relative_to(ROOT).parts[0]]
    inner = {name.split(".")[1] for name in imports(path) if name.startswith("phasewalk.")}
    assert inner <= allowed


@pytest.mark.spec("BAR-30")
@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_imported_only_where_it_belongs(library: str):
    strays = [
        here(p)
        for p in modules()
        if library in {n.split(".")[0] for n in imports(p)} and not here(p).startswith(ONLY_IN[library])
    ]
    assert strays == []


@pytest.mark.spec("BAR-30", "TURN-03")
@pytest.mark.parametrize("name", sorted(PHASES))
def test_a_phase_imports_no_other_phase(name: str):
    others = {f"phasewalk.phases.{other}" for other in PHASES - {name}}
    assert [
        n for n in imports(ROOT / "phases" / f"{name}.py") if any(n == o or n.startswith(o + ".") for o in others)
    ] == []


@pytest.mark.spec("BAR-30")
def test_the_machine_opens_no_file_and_no_socket():
    outside = {"pathlib", "socket", "sqlite3", "os", "io", "subprocess", "urllib", "http", "tempfile"}
    pure = {"urllib.parse.quote", "urllib.parse.quote_plus"}
    used = {here(p): {n.split(".")[0] for n in imports(p) if n not in pure} for p in (ROOT / "machine").rglob("*.py")}
    assert [file for file, names in used.items() if outside & names] == []


@pytest.mark.spec("BAR-30")
def test_the_list_of_packages_is_the_list_of_folders():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    folders = {here(path.parent) for path in modules() if path.name == "__init__.py"}
    listed = {name.removeprefix("phasewalk.").replace(".", "/") for name in project["packages"]}
    mapped = set(project["package-dir"].values())
    assert folders == listed == mapped


@pytest.mark.spec("BAR-30")
def test_every_folder_with_code_is_a_package():
    assert [here(p) for p in modules() if not (p.parent / "__init__.py").exists()] == []
