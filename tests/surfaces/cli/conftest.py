"""The command line, called in this process on the log of a builder, or as a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from builders import LogBuilder
from click.testing import CliRunner

from phasewalk.surfaces.cli.main import main

PROGRAM = (sys.executable, "-m", "phasewalk.surfaces.cli")


class Answer(NamedTuple):
    """What a command said: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def items(self) -> list[dict[str, Any]]:
        return self.document["items"]


Look = Callable[..., Answer]


@pytest.fixture
def look(builder: LogBuilder) -> Look:
    """Call `phasewalk --db LOG ARGUMENTS` in this process."""

    def called(*arguments: str, stdin: str | None = None) -> Answer:
        done = CliRunner().invoke(main, ["--db", str(builder.path), *arguments], input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Answer(done.exit_code, done.stdout, done.stderr)

    return called


@pytest.fixture
def process(builder: LogBuilder) -> Look:
    """Call it as a process of its own; `environment` adds variables, `path` names another log."""

    def called(*arguments: str, environment: dict[str, str] | None = None, path: Path | None = None) -> Answer:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "COVERAGE_PROCESS_START") if name in os.environ}
        done = subprocess.run(
            [*PROGRAM, "--db", str(path or builder.path), *arguments],
            check=False,
            env={**kept, "PYTHONUTF8": "1", **(environment or {})},
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    return called
