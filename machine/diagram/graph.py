"""What is drawn: the phases of one machine and its edges, taken from the transition table alone.

Owns the extract, from a `Table` and from the JSON that the log keeps of a table, so that an old turn is drawn
on its own machine. Knows no format and no runner. Invariant: a `Graph` that exists names known phases only, and
phases are identifiers; ids, events and guards may be any text.
"""

from collections.abc import Mapping

from attrs import frozen

from phasewalk.machine.errors import TableError
from phasewalk.machine.table import Table

Arc = tuple[str, str, str]
"""What every format can be read back to: (source, target, row id)."""


@frozen
class Edge:
    """One row of the table as seen from one of its phases, for one of its events."""

    id: str
    source: str
    event: str
    target: str
    guards: tuple[str, ...] = ()

    @property
    def arc(self) -> Arc:
        """The edge without event and guards."""
        return (self.source, self.target, self.id)


@frozen
class Graph:
    """One machine: `phases` in the order of the lane, edges in the order of the table."""

    name: str
    phases: tuple[str, ...]
    initial: str
    final: str
    edges: tuple[Edge, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """The lane with its end."""
        return (*self.phases, self.final)

    @property
    def arcs(self) -> frozenset[Arc]:
        """Every arc: what a reader must find again in any picture of this graph."""
        return frozenset(edge.arc for edge in self.edges)

    def edges_of(self, phase: str) -> tuple[Edge, ...]:
        """The edges that leave a phase, in the order in which they are tried."""
        return tuple(edge for edge in self.edges if edge.source == phase)

    def rows(self) -> tuple[tuple[Edge, ...], ...]:
        """The edges of each row of the table together."""
        found: dict[str, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.id, []).append(edge)
        return tuple(tuple(edges) for edges in found.values())


def graph_of(table: Table) -> Graph:
    """The extract of a table. Raises `TableError` if a phase is no identifier or a name is empty."""
    return graph_of_document(table.as_document())


def graph_of_document(document: Mapping[str, object]) -> Graph:
    """The extract of what `Table.as_document` returned, also after a journey through JSON.

    Raises `TableError` if the document is not of that form.
    """
    name = _name(document, "name", "the document")
    graph = Graph(
        name=name,
        phases=_names(document, "phases", f"table {name!r}"),
        initial=_name(document, "initial", f"table {name!r}"),
        final=_name(document, "final", f"table {name!r}"),
        edges=tuple(edge for row in _rows(document, name) for edge in _edges(row, name)),
    )
    _check(graph)
    return graph


def _rows(document: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    rows = document.get("rows")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TableError(f"table {name!r}: 'rows' is {rows!r:.60}, a list of objects is needed")
    ids = [row.get("id") for row in rows]
    twice = [row_id for number, row_id in enumerate(ids) if row_id in ids[:number]]
    if twice:
        raise TableError(f"table {name!r}: row id {twice[0]!r} is used twice, ids that differ are needed")
    return rows


def _edges(row: Mapping[str, object], table: str) -> list[Edge]:
    row_id = _name(row, "id", f"a row of table {table!r}")
    where = f"table {table!r}, row {row_id}"
    target, guards = _name(row, "to", where), _names(row, "guards", where)
    return [
        Edge(row_id, source, event, target, guards)
        for source in _names(row, "from", where)
        for event in _names(row, "event", where)
    ]


def _check(graph: Graph) -> None:
    for node in graph.nodes:
        if not node.isidentifier():
            raise TableError(f"table {graph.name!r}: phase {node!r} cannot be drawn, an identifier is needed")
    used = {graph.initial, *(edge.source for edge in graph.edges), *(edge.target for edge in graph.edges)}
    strange = sorted(used - set(graph.nodes))
    if strange:
        known = ", ".join(graph.nodes)
        raise TableError(f"table {graph.name!r}: unknown phases {', '.join(strange)}; known are {known}")


def _name(data: Mapping[str, object], key: str, where: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value:
        raise TableError(f"{where}: {key!r} is {value!r:.60}, a text that is not empty is needed")
    return value


def _names(data: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    values = data.get(key)
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) and value for value in values):
        raise TableError(f"{where}: {key!r} is {values!r:.60}, a list of texts that are not empty is needed")
    return tuple(values)
