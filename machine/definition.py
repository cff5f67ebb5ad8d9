"""A machine that can be walked: a table, the phases that do its work, and who explains its steps."""

from collections.abc import Callable, Mapping

from attrs import field, frozen

from phasewalk.machine.engine import Engine, Step
from phasewalk.machine.errors import TableError
from phasewalk.machine.guards import GUARDS, Asked
from phasewalk.machine.phase import Phase
from phasewalk.machine.records import Record
from phasewalk.machine.table import Table
from phasewalk.machine.turn import FIELDS, Turn


@frozen
class Stepped:
    """A step as it is explained: the turn after the report, the phase that ended and how, and the row taken.

    `now_us` on the wall clock, `now` in seconds on the monotonic one.
    """

    turn: Turn
    step: Step
    phase: str
    event: str
    now_us: int
    now: float

    @property
    def leaves(self) -> bool:
        """Whether a failed call is followed by no further one."""
        return self.event in FAILED and self.step.row.cause is None


FAILED = frozenset({"attempt_failed", "envelope_rejected"})
"""Events by which a model call has failed."""

Witness = Callable[[Stepped], tuple[Record, ...]]
"""Rows that explain a step."""


@frozen
class Definition:
    """A machine: its table, its phases, and who explains its steps."""

    table: Table
    phases: Mapping[str, Phase]
    witness: Witness = lambda _: ()
    engine: Engine[Asked] = field(init=False)

    @engine.default
    def _bind(self) -> Engine[Asked]:
        return Engine(self.table, GUARDS)

    def __attrs_post_init__(self) -> None:
        if set(self.phases) != set(self.table.phases):
            odd = set(self.phases) ^ set(self.table.phases)
            raise TableError(f"machine {self.table.name!r}: phases and table differ in {', '.join(sorted(odd))}")
        for phase in self.phases.values():
            strange = phase.events - self.table.events_of(phase.name)
            if strange:
                raise TableError(f"phase {phase.name!r} declares events without a row: {', '.join(sorted(strange))}")
            unknown = phase.writes - set(FIELDS)
            if unknown:
                raise TableError(f"phase {phase.name!r} declares fields that no turn has: {', '.join(sorted(unknown))}")
