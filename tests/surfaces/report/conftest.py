"""The page of a log that a test makes."""

from collections.abc import Callable

import pytest
from builders import LogBuilder
from report_logs import LOGS, UTC, facts

from phasewalk.surfaces.report.page import Made, page

Render = Callable[..., str]


@pytest.fixture
def render(builder: LogBuilder) -> Render:
    """The page of the builder's log; `later` seconds after now, `made` at another clock."""

    def rendered(*, later: float = 0.0, made: int | None = None, **asked: int | None) -> str:
        now = builder.now_us + int(later * 1e6)
        found = facts(builder.path, as_of=now, **asked)
        return page(found, UTC, Made(now if made is None else made, "0.1.0"))

    return rendered


@pytest.fixture(params=LOGS)
def any_page(request: pytest.FixtureRequest, builder: LogBuilder, render: Render) -> str:
    LOGS[request.param](builder)
    return render()
