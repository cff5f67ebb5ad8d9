"""Whether a committed picture still shows its machine, and what mends it if not (OPS-22).

Owns the comparison. Opens no file: it is handed the text. Invariant: no message means equal bytes.
"""

from phasewalk.machine.diagram.formats import FORMATS
from phasewalk.machine.diagram.graph import Arc, Graph, graph_of
from phasewalk.machine.table import Table


def drift(machine: Table | Graph, text: str, format_name: str) -> list[str]:
    """What is wrong with `text` as the picture of `machine`, a key of `FORMATS` naming its format.

    Missing and extra edges by name; if there are none, the first line that differs. Each message ends with the
    command that mends it. Empty if the picture is the one that would be drawn now.
    """
    graph = graph_of(machine) if isinstance(machine, Table) else machine
    renderer = FORMATS[format_name]
    path = f"diagrams/{graph.name}{renderer.suffix}"
    mend = f"phasewalk diagram {graph.name} --format {format_name} > {path}"
    problems = _edges(graph, renderer.edges_in(text)) or _bytes(renderer.render(graph), text)
    return [f"{path}: {problem}; mend it: {mend}" for problem in problems]


def _edges(graph: Graph, drawn: frozenset[Arc]) -> list[str]:
    missing = [arc for arc in dict.fromkeys(edge.arc for edge in graph.edges) if arc not in drawn]
    extra = sorted(drawn - graph.arcs)
    return [
        *(f"missing edge {_words(arc)}, the table has it" for arc in missing),
        *(f"extra edge {_words(arc)}, the table does not have it" for arc in extra),
    ]


def _words(arc: Arc) -> str:
    source, target, row_id = arc
    return f"{row_id} from {source} to {target}"


def _bytes(wanted: str, text: str) -> list[str]:
    if wanted == text:
        return []
    new, old = wanted.splitlines(keepends=True), text.splitlines(keepends=True)
    same = next(
        (n for n, pair in enumerate(zip(new, old, strict=False)) if pair[0] != pair[1]), min(len(new), len(old))
    )
    return [f"the edges agree but line {same + 1} is {_at(old, same)} and would be drawn as {_at(new, same)}"]


def _at(lines: list[str], number: int) -> str:
    return repr(lines[number]) if number < len(lines) else "not there"
