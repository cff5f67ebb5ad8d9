"""What a phase is to the runner, what it reports, and the check of a report before anything is committed.

Owns `Phase`, `Report` and TURN-18. Knows no particular phase.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from attrs import field, frozen

from phasewalk.machine.documents import Encoded, NotStorableError, encode
from phasewalk.machine.errors import PhaseResultError
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import Record
from phasewalk.machine.turn import FIELDS, Turn


@frozen
class Report:
    """How a phase ended: an event in the past tense, what it changes on the turn, and why.

    `records` are committed together with the end of the visit.
    """

    event: str
    changes: Mapping[str, object] = field(factory=dict)
    reason: Reason | None = None
    detail: Mapping[str, object] = field(factory=dict)
    records: tuple[Record, ...] = ()


@frozen
class Opening:
    """What a visit starts with: changes of the turn and detail of its entry, both pure."""

    changes: Mapping[str, object] = field(factory=dict)
    detail: Mapping[str, object] = field(factory=dict)


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset(names)


@frozen
class Phase:
    """A phase as the runner knows it (TURN-03): its coroutine, the events it may return, the fields it may set."""

    name: str
    run: Callable[[Turn, Ports], Awaitable[Report]]
    events: frozenset[str] = field(converter=_names)
    writes: frozenset[str] = field(converter=_names, default=frozenset())
    opening: Callable[[Turn], Opening] | None = None


def checked_changes(phase: Phase, changes: Mapping[str, object]) -> None:
    """Raise `PhaseResultError` for a field that `phase` has not declared, or of the wrong type."""
    for name, value in changes.items():
        if name not in phase.writes:
            raise PhaseResultError(
                phase.name, name, "not declared; declared are " + (", ".join(sorted(phase.writes)) or "none")
            )
        types = FIELDS[name]
        if not isinstance(value, types):
            wanted = " or ".join(t.__name__ for t in types)
            raise PhaseResultError(phase.name, name, f"is {type(value).__name__}, declared is {wanted}")


def _check_parts(phase: Phase, report: Report) -> None:
    parts: tuple[tuple[str, object, type, str], ...] = (
        ("event", report.event, str, "str"),
        ("changes", report.changes, Mapping, "Mapping"),
        ("reason", Reason.OK if report.reason is None else report.reason, Reason, "Reason or None"),
        ("detail", report.detail, Mapping, "Mapping"),
        ("records", report.records, tuple, "tuple"),
    )
    for name, value, wanted, words in parts:
        if not isinstance(value, wanted):
            raise PhaseResultError(phase.name, name, f"is {type(value).__name__}, declared is {words}")
    strange = [type(record).__name__ for record in report.records if not isinstance(record, Record)]
    if strange:
        raise PhaseResultError(phase.name, "records", f"holds {', '.join(strange)}, declared are rows of the log")


def checked_document(phase: Phase, report: object) -> Encoded | None:
    """The detail of a visit's end as JSON: what the phase says, and what it changed.

    Raises `PhaseResultError` for a report that breaks the phase's declaration or cannot be stored.
    """
    if not isinstance(report, Report):
        raise PhaseResultError(phase.name, "report", f"is {type(report).__name__}, declared is Report")
    _check_parts(phase, report)
    if report.event not in phase.events:
        raise PhaseResultError(
            phase.name, "event", f"{report.event!r} is not declared; declared are {', '.join(sorted(phase.events))}"
        )
    checked_changes(phase, report.changes)
    if not report.detail and not report.changes:
        return None
    try:
        said = {**report.detail, **report.changes}
        return encode({name: value for name, value in said.items() if value not in (None, ())})
    except NotStorableError as error:
        raise PhaseResultError(phase.name, error.path or "detail", error.problem) from error
