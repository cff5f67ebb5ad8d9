"""Each row of each table can be taken: with its own guards held and every other refused, it is the one."""

import pytest

from phasewalk.machine.engine import Engine, Verdict
from phasewalk.machine.guards import GUARDS
from phasewalk.machine.summary_table import SUMMARY_TABLE
from phasewalk.machine.turn_table import TURN_TABLE

PLACES = [
    pytest.param(table, row, source, event, id=f"{row.id} {source} {event}")
    for table in (TURN_TABLE, SUMMARY_TABLE)
    for row in table.rows
    for source in row.sources
    for event in row.events
]


@pytest.mark.spec("TURN-01", "BAR-31")
@pytest.mark.parametrize(("table", "row", "source", "event"), PLACES)
def test_a_row_is_taken_when_its_guards_hold_and_the_others_refuse(table, row, source, event):
    guards = {name: lambda _asked, held=name in row.guards: Verdict(held) for name in GUARDS}
    assert Engine(table, guards).step("t", source, event, None).row is row
