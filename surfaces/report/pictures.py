"""Diagrams on a page: the traffic of a period, and the path of one turn, each on the machine that it ran on.

Owns how a picture is framed, and what takes its place where it cannot be drawn. Knows no SVG.
Invariant: a picture never stands alone: what it shows is also said in words or in a table.
"""

from collections import Counter

from phasewalk.machine.diagram.graph import Graph, graph_of_document
from phasewalk.machine.diagram.overlay import Overlay
from phasewalk.machine.diagram.svg import inline
from phasewalk.machine.errors import CallerError, TableError
from phasewalk.surfaces.report.excerpt import LONGEST_PATH, Excerpt, Step
from phasewalk.surfaces.report.facts import Traffic
from phasewalk.surfaces.report.html import Html, el
from phasewalk.surfaces.report.pieces import Column, counted, folded, number, scroll, section, table, were


def heat_section(traffic: list[Traffic]) -> Html:
    """How often each transition was taken, drawn and as a table; the busiest machine of turns stands open."""
    title = "Where turns went"
    if not traffic:
        return section("heat", title, el("p", "No turn began in this period, so there is no traffic to draw."))
    first, *others = traffic
    more = [folded(f"The machine {_name(each)}, {counted(each.turns, 'turn')}", _traffic(each)) for each in others]
    return section("heat", title, _traffic(first), more)


def _name(traffic: Traffic) -> str:
    return str(traffic.document.get("name"))


def _traffic(traffic: Traffic) -> list[Html | None]:
    try:
        graph = graph_of_document(traffic.document)
    except TableError as error:
        return [_none(error)]
    steps = {(source, row, target) for source, target, row in graph.arcs}
    fitting = {step: count for step, count in traffic.heat.items() if step in steps}
    strange = sum(traffic.heat.values()) - sum(fitting.values())
    walked = f"The machine {graph.name} as {counted(traffic.turns, 'turn')} of this period walked it."
    said = f"{walked} The wider an arrow, the oftener it was taken; the ids of rows are told below."
    over = f"{counted(strange, 'step')} that this machine does not know {were(strange)} taken, and not drawn."
    return [
        _drawn(graph, Overlay(heat=fitting), said),
        el("p", over, class_="note warn") if strange else None,
        _rows(graph, fitting),
    ]


def _rows(graph: Graph, heat: dict[Step, int]) -> Html:
    """What each id on the picture stands for, and how often it was taken: the picture in words."""
    columns = (
        Column("Row"), Column("Taken", "n"), Column("Event"), Column("Guards, all must hold"), Column("From"),
        Column("To"),
    )  # fmt: skip
    counts = Counter[str]()
    for (_, row, _), count in heat.items():
        counts[row] += count
    rows = [
        (
            el("code", edges[0].id), number(counts[edges[0].id]), ", ".join(dict.fromkeys(e.event for e in edges)),
            ", ".join(edges[0].guards) or "-", ", ".join(dict.fromkeys(e.source for e in edges)), edges[0].target,
        )
        for edges in graph.rows()
    ]  # fmt: skip
    name = f"Rows of the machine {graph.name}"
    return folded(f"{name}, and how often each was taken", table(name, columns, rows, label=name))


def path_of_turn(turn: Excerpt) -> Html:
    """The path of a turn; a long one by counts, since nobody can follow its numbers."""
    steps = len(turn.path)
    if not steps:
        return el("p", "The turn made no step that could be drawn.", class_="note muted")
    said, overlay = (
        f"The path of the turn in {counted(steps, 'step')}, in the order of the numbers.",
        Overlay(turn.path),
    )
    if steps > LONGEST_PATH:
        said = (
            f"The turn made {counted(steps, 'step')}, too many to number: the picture shows how often each was taken."
        )
        overlay = Overlay(heat=Counter(turn.path))
    try:
        return _drawn(graph_of_document(turn.document), overlay, said)
    except (CallerError, TableError) as error:
        return _none(error)


def _drawn(graph: Graph, overlay: Overlay, said: str) -> Html:
    """The picture with its sentence."""
    return el("figure", el("figcaption", said), scroll(Html(inline(graph, overlay)), said))


def _none(error: Exception) -> Html:
    """What takes the place of a picture that cannot be drawn."""
    return el("p", f"There is no picture: {error}", class_="note muted")
