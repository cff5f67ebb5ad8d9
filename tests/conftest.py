"""A log of one's own, for every folder of tests; `builders.py` makes its rows."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # so that tests can say: from builders import GONE

from builders import LogBuilder

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job; what is started would not hear Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def builder(tmp_path: Path) -> Iterator[LogBuilder]:
    made = LogBuilder(tmp_path / "phasewalk.db")
    yield made
    made.close()
