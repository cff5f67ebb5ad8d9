"""A folder with a configuration, and the real command line in it as a real process."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from replaying import Place

PROGRAM = (sys.executable, "-m", "phasewalk.surfaces.cli")


class Workplace:
    """Runs `phasewalk` in a folder of its own, with a clean environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "phasewalk.db"
        kept = {
            name: os.environ[name] for name in ("PATH", "HOME", "LANG", "COVERAGE_PROCESS_START") if name in os.environ
        }
        self.environment = {**kept, "PYTHONUTF8": "1", "TZ": "UTC"}

    def configure(self, text: str) -> None:
        (self.folder / "phasewalk.toml").write_text(text, "utf-8")

    def model(self, *base_urls: str, extra: str = "", **limits: object) -> None:
        """Providers `one`, `two`, ... at these addresses, with a key, and these `[limits]`."""
        names = ("one", "two", "three")
        providers = "".join(
            f'[[providers]]\nname = "{name}"\napi = "chat"\nbase-url = "{url}"\nmodel = "m-{name}"\napi-key-env = "KEY"\n'
            for name, url in zip(names, base_urls, strict=False)
        )
        numbers = {
            "backoff": 0.01,
            "post-effect-delays": [0.01, 0.02],
            **{k.replace("_", "-"): v for k, v in limits.items()},
        }
        table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in numbers.items())
        self.environment["KEY"] = "sk-test-0123456789abcdef"
        self.configure(f"{extra}\n{providers}\n[limits]\n{table}")

    def tools(self, code: str) -> str:
        """A module of tools beside the configuration; the line that names it."""
        (self.folder / "my_tools.py").write_text("from phasewalk.phases.tools import tool\n" + code, "utf-8")
        return '[tools]\nmodules = ["my_tools"]\n'

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, timeout: float = 60.0, said: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*PROGRAM, *arguments],
            check=False,
            cwd=self.folder,
            env=self.environment,
            input=said,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def turn(self, text: str, *options: str) -> dict:
        """The object that `phasewalk turn --json` prints."""
        done = self.run("turn", text, "--json", *options)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def rows(self, query: str, *values: object) -> list[tuple]:
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


@pytest.fixture
def place(workplace, monkeypatch) -> Iterator[Place]:
    """A place whose tools are its own; the key of its providers is there while it lasts."""
    monkeypatch.setenv("KEY", "sk-test-0123456789abcdef")
    yield Place(workplace)
    sys.modules.pop("phasewalk_tools_from_my_tools", None)
