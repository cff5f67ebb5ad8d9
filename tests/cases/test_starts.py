"""What each process ran by stands in the log, so that a change can be found afterwards."""

import json

import pytest

from phasewalk.storage.changes import Change, start_before
from phasewalk.storage.database import open_for_reading


@pytest.mark.spec("OPS-11", "LOG-10")
def test_a_changed_configuration_is_told_by_the_next_start_and_holds_no_key(workplace):
    workplace.model("http://127.0.0.1:9/v1")
    workplace.turn("", "--no-direct")
    workplace.model("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1", turn=20.0)
    workplace.turn("", "--no-direct")
    start = start_before(open_for_reading(workplace.database), 2**62)
    assert start is not None
    assert start.changes is not None
    assert Change("candidates", ["one/m-one"], ["one/m-one", "two/m-two"]) in start.changes
    assert Change("limits.turn", 360.0, 20.0) in start.changes
    bodies = workplace.rows("SELECT body FROM configuration")
    assert len(bodies) == 2
    assert workplace.environment["KEY"] not in str(bodies)
    assert json.loads(bodies[0][0])["keys"]["one"] is True
