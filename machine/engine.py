"""Executes a transition table with the `transitions` library; the only file that imports it.

Owns: which row is taken for an event, and the record of every guard that was asked on the way.
Does not know: phases, the log, time. Its synchronous machine is used with automatic transitions off and no
queue, so that nothing of a turn lives inside the library: state stands on the `Stepper` handed in, time-outs
and cancellation are the runner's.
Invariant: a refused or unknown event leaves the stepper as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypedDict, TypeVar

from attrs import define, frozen
from transitions import Event, EventData, Machine, MachineError, Transition

from phasewalk.machine.errors import IllegalEventError, TableError
from phasewalk.machine.table import Row, Table

Asked = TypeVar("Asked")
"""What the guards of a table are asked about."""


@frozen
class Verdict:
    """A guard's answer with the values that it compared."""

    held: bool
    values: Mapping[str, object] = {}


class GuardAsked(TypedDict):
    """One evaluation of a guard, as it stands in the log (TURN-01)."""

    transition: str
    name: str
    held: bool
    values: Mapping[str, object]


@frozen
class Step:
    """The row taken for an event, and every guard asked to get there."""

    row: Row
    guards: tuple[GuardAsked, ...]


@define
class _Stepper(Generic[Asked]):
    """What `transitions` moves: the phase, what guards look at, and what they said."""

    state: str
    asked: Asked
    said: list[GuardAsked]
    verdicts: dict[str, Verdict]
    taken: Row | None = None


class _RowTransition(Transition):
    """A row as the library's transition: asks its guards in order, keeps what they said, moves the stepper.

    States here have no callbacks, so nothing else of `Transition.execute` is needed.
    """

    def __init__(self, row: Row, source: str, questions: Sequence[tuple[str, Callable[[Any], Verdict]]]) -> None:
        super().__init__(source, row.target)
        self._row = row
        self._questions = questions

    def execute(self, event_data: Any) -> bool:
        """Whether the row was taken."""
        stepper = event_data.model
        for name, guard in self._questions:
            verdict = stepper.verdicts.get(name)
            if verdict is None:
                verdict = stepper.verdicts[name] = guard(stepper.asked)
            stepper.said.append(
                {"transition": self._row.id, "name": name, "held": verdict.held, "values": verdict.values},
            )
            if not verdict.held:
                return False
        stepper.state = self._row.target
        stepper.taken = self._row
        return True


class _RowEvent(Event):
    """An event as the library's, without its hooks around every trigger: nothing here uses them."""

    def trigger(self, model: Any, *_args: Any, **_kwargs: Any) -> bool:
        """Whether a row was taken; raises `MachineError` when the state has none for this event."""
        transitions = self.transitions.get(model.state)
        if not transitions:
            raise MachineError(f"no transition for {self.name} from {model.state}")
        data = EventData(None, self, self.machine, model, (), {})
        return any(transition.execute(data) for transition in transitions)


class _RowMachine(Machine):
    """The library's machine over rows."""

    event_cls = _RowEvent


class Engine(Generic[Asked]):
    """One table bound to its guard functions; holds no turn and may be shared by all of them.

    A guard gets what it is asked about (`Asked`) and returns a `Verdict`. Within one step a guard is
    evaluated once, also when several rows name it.
    """

    def __init__(self, table: Table, guards: Mapping[str, Callable[[Asked], Verdict]]) -> None:
        """Bind `table` to `guards`; raise `TableError` when a guard of the table has no function."""
        missing = {name for row in table.rows for name in row.guards} - set(guards)
        if missing:
            raise TableError(f"table {table.name!r}: no function for guards {', '.join(sorted(missing))}")
        self.table = table
        self._guards = guards
        self._machine = _RowMachine(
            model=None,
            states=[*table.phases, table.final],
            initial=table.initial,
            auto_transitions=False,
            send_event=True,
        )
        for row in table.rows:
            questions = [(name, guards[name]) for name in row.guards]
            for event in row.events:
                for source in row.sources:
                    self._event(event).add_transition(_RowTransition(row, source, questions))

    def step(self, turn_id: str, phase: str, event: str, asked: Asked) -> Step:
        """Take the first row of (phase, event) whose guards all hold.

        Raises `IllegalEventError` when there is no row, or every row refuses (TURN-02).
        """
        stepper = _Stepper(phase, asked, [], {})
        known = self._machine.events.get(event)
        if known is None or phase == self.table.final:
            raise IllegalEventError(turn_id, phase, event, "the table has no row for it")
        try:
            moved = known.trigger(stepper)
        except MachineError as error:
            raise IllegalEventError(turn_id, phase, event, "the table has no row for it") from error
        if not moved or stepper.taken is None:
            refused = ", ".join(f"{g['transition']}.{g['name']}" for g in stepper.said if not g["held"])
            raise IllegalEventError(turn_id, phase, event, f"every row refused ({refused})")
        return Step(stepper.taken, tuple(stepper.said))

    def _event(self, name: str) -> Event:
        if name not in self._machine.events:
            self._machine.events[name] = self._machine.event_cls(name, self._machine)
        return self._machine.events[name]
