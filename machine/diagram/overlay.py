"""What is laid over a picture: the path of one turn as order numbers, the traffic of many turns as counts.

Owns the meaning of an overlay and the words in which every format shows it. Knows no format.
Invariant: nothing is lost silently; a step or a count that belongs to no edge of the graph is an error.
"""

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from phasewalk.machine.diagram.graph import Arc, Graph
from phasewalk.machine.errors import CallerError

Step = tuple[str, str, str]
"""One transition that was taken, as the log holds it: (phase, row id, next phase)."""

Heat = Mapping[str, int] | Mapping[Step, int]
"""How often each row was taken, by row id; or, exact also for rows with several phases, by step."""

_Counts = dict[str | Step, int]


def _steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    return tuple(steps)


def _counts(heat: Heat | None) -> _Counts | None:
    if heat is None:
        return None
    counts: _Counts = {}
    for key, count in heat.items():
        counts[key] = count
    return counts


@frozen
class Overlay:
    """`path` in the order walked; `heat` with every row that is not named unused, None for no heat at all."""

    path: tuple[Step, ...] = field(default=(), converter=_steps)
    heat: _Counts | None = field(default=None, converter=_counts)

    @property
    def visited(self) -> frozenset[str]:
        """The phases on the path."""
        return frozenset(phase for source, _, target in self.path for phase in (source, target))

    def legend(self) -> tuple[str, ...]:
        """One sentence for each kind of mark that is shown."""
        lines = []
        if self.path:
            lines.append("(1, 2): order of the steps of one turn")
        if self.heat is not None:
            lines.append("(20x): taken 20 times, in all: from all phases of the row together")
        return tuple(lines)


PLAIN = Overlay()
"""Nothing is laid over."""


@frozen
class Mark:
    """What an overlay says of one arc. A `shared` count is that of the whole row with all its phases."""

    steps: tuple[int, ...] = ()
    count: int | None = None
    shared: bool = False

    @property
    def text(self) -> str:
        """The mark as it stands behind a row id, with a space before it; empty if there is nothing to say."""
        parts = [str(step) for step in self.steps]
        if self.count is not None:
            parts.append(times(self.count) + (" in all" if self.shared else ""))
        return f" ({', '.join(parts)})" if parts else ""


def times(count: int) -> str:
    """A count in words that need no legend."""
    return f"{count}x" if count else "unused"


def marks_of(graph: Graph, overlay: Overlay) -> dict[Arc, Mark]:
    """The mark of every arc of the graph.

    Raises `CallerError` if the overlay names a step or a row that the graph does not have.
    """
    _check(graph, overlay)
    steps: dict[Arc, list[int]] = {}
    for number, (source, row_id, target) in enumerate(overlay.path, start=1):
        steps.setdefault((source, target, row_id), []).append(number)
    sources: dict[str, set[str]] = {}
    for source, _, row_id in graph.arcs:
        sources.setdefault(row_id, set()).add(source)
    return {
        arc: _mark(arc, tuple(steps.get(arc, ())), overlay.heat, several=len(sources[arc[2]]) > 1) for arc in graph.arcs
    }


def _mark(arc: Arc, steps: tuple[int, ...], counts: _Counts | None, *, several: bool) -> Mark:
    if counts is None:
        return Mark(steps)
    source, target, row_id = arc
    exact = counts.get((source, row_id, target), 0)
    of_row = counts.get(row_id, 0)
    return Mark(steps, of_row, several) if of_row else Mark(steps, exact)


def _check(graph: Graph, overlay: Overlay) -> None:
    steps = {(source, row_id, target) for source, target, row_id in graph.arcs}
    known: set[str | Step] = {*steps, *(edge.id for edge in graph.edges)}
    named: list[str | Step] = [*overlay.path, *(overlay.heat or ())]
    for name in named:
        if name not in known:
            raise CallerError(
                f"{_words(name)} is not part of machine {graph.name!r}; "
                f"an overlay fits only the machine that its turns were walked on"
            )


def _words(name: str | Step) -> str:
    if isinstance(name, str):
        return f"row {name}"
    source, row_id, target = name
    return f"step {row_id} from {source} to {target}"
