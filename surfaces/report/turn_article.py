"""One turn on a page: why it ended so, what was said, a bar for each visit, its model calls as a tree, its path.

Owns the order and the wording of these. Pure: from an excerpt to HTML. Invariant: the first failure is as visible as
the last, and what the excerpt leaves out is said.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from phasewalk.surfaces.cli.show_lines import OWNERS
from phasewalk.surfaces.report.excerpt import EACH_END, Excerpt
from phasewalk.surfaces.report.html import Html, el, passage
from phasewalk.surfaces.report.pictures import path_of_turn
from phasewalk.surfaces.report.pieces import (
    Column,
    Frame,
    bar,
    bare_table,
    command,
    counted,
    folded,
    kind,
    table,
    took,
    were,
    whose,
)
from phasewalk.surfaces.report.tables_section import values

Item = dict[str, Any]

BECAUSE = {
    "stuck": "it does not move",
    "in_doubt": "something of it may or may not have happened",
    "got_nothing": "somebody spoke to the bot and got nothing",
    "failed": "it failed",
    "long": "it ended well and took long",
}
PARTS = {"visits": "visit", "attempts": "model call", "fallback": "decision", "tools": "tool call", "effects": "effect",
         "lost": "lost row", "causes": "cause"}  # fmt: skip
SAID = {"question": "Asked", "answer": "Answer", "notice": "Notice", "staff": "For staff"}


def turn_article(turn: Excerpt, frame: Frame) -> Html:
    """The turn as an article of its own."""
    name = str(turn.head["turn_id"])
    return el(
        "article",
        el("h3", kind(turn.head["outcome"]), el("code", name), id=f"turn-{name}-title"),
        _head(turn, frame),
        _why(turn.why),
        _said(turn.head),
        _visits(turn),
        _attempts(turn),
        _decisions(turn),
        _tools(turn),
        _effects(turn),
        _missing(turn),
        el("p", "More: ", command(f"phasewalk show {name} --detail"), class_="note"),
        folded("Its path through the machine", path_of_turn(turn)),
        id=f"turn-{name}",
        aria_labelledby=f"turn-{name}-title",
    )


def _head(turn: Excerpt, frame: Frame) -> Html:
    head, because = turn.head, BECAUSE[turn.worst.because]
    if turn.worst.alike > 1:
        because += f"; {counted(turn.worst.alike, 'turn')} are alike"
    said = f"A {head['kind']} turn of {whose(head)}, {head['addressed_by'] or 'overheard'}, "
    lasted = f"took {took(head['took_ms'])}" if head["took_ms"] is not None else "has not ended"
    reason = f", {lasted}. Shown because {because}."
    return el("p", said, frame.moment(head["started_us"]), reason, class_="note muted")


def _why(why: Item) -> list[Html | None]:
    """Cause before chronology; then the rule, and what would have changed the end."""
    causes = [*why["waits"], *why["causes"]]
    rule = el("p", "Decided by ", el("code", why["rule"]), values(why["values"]), ".") if why["rule"] else None
    return [
        el("p", why["verdict"], ".", class_="lead"),
        el(
            "ul",
            [el("li", str(c).strip(), class_="sub" if str(c).startswith(" ") else None) for c in causes],
            class_="why",
        )
        if causes
        else None,
        rule,
        el("p", "Otherwise: ", why["otherwise"], ".") if why["otherwise"] else None,
    ]


def _said(head: Item) -> Html | None:
    """What somebody wrote, in a box that keeps its direction to itself."""
    told = {label: head[name] for name, label in SAID.items() if head[name] is not None}
    if head["question"] is None:
        told = {"Asked": "(pruned)", **told}
    rows = [[el("dt", label), el("dd", el("blockquote", passage(text), dir="auto"))] for label, text in told.items()]
    by = OWNERS.get(head["owner"], head["owner"])
    owner = [el("dt", "Said by"), el("dd", el("p", by))] if by is not None else None
    return el("dl", rows, owner, class_="said")


def _visits(turn: Excerpt) -> Html | None:
    """A bar for each visit on the time of the whole turn, or that it may take while it has not ended."""
    visits = turn.lists["visits"]
    if not visits:
        return el("p", "The log holds no visit of this turn.", class_="note muted")
    head = turn.head
    lasted = head["took_ms"] if head["took_ms"] is not None else (head["deadline_us"] - head["started_us"]) / 1000
    whole = max(*(v["offset_ms"] + (v["took_ms"] or 0.0) for v in visits), lasted, 0.001)
    until = " to its deadline" if head["took_ms"] is None else ""
    columns = (
        Column("Phase", "keep"),
        Column("After", "n"),
        Column("When", "bar"),
        Column("Took", "n"),
        Column("What ended it", "wide"),
    )
    rows = [
        (_name(v), f"{v['offset_ms'] / 1000:+.3f} s", _bar(v, whole), took(v["took_ms"]), _ended(v)) for v in visits
    ]
    return table(
        f"Visits on a line of {took(whole)}{until}{_ends(turn, 'visits')}",
        columns,
        rows,
        label=f"Visits of {turn.head['turn_id']}",
    )


def _ends(turn: Excerpt, name: str) -> str:
    """What a caption says of an excerpt."""
    more = turn.missing.get(name)
    return (
        f"; the first {EACH_END} and the last {EACH_END}, between them {counted(more, PARTS[name])} are left out"
        if more
        else ""
    )


def _name(visit: Item) -> str:
    return f"{visit['phase']} {visit['visit']}" if visit["visit"] > 1 else str(visit["phase"])


def _bar(visit: Item, whole: float) -> Html:
    lasted = visit["took_ms"]
    until = f"took {took(lasted)}" if lasted is not None else "not ended"
    width = (whole - visit["offset_ms"] if lasted is None else lasted) / whole
    look = "open" if lasted is None else "ill" if visit["reason"] not in (None, "ok", "answer_not_needed") else "ok"
    return bar(visit["offset_ms"] / whole, width, f"{_name(visit)}: after {took(visit['offset_ms'])}, {until}", look)


def _ended(visit: Item) -> Iterator[object]:
    if visit["event"] is None:
        yield "has not ended"
        return
    yield el("code", f"{visit['transition']} {visit['event']}")
    yield f" to {visit['to_phase']}"
    if visit["reason"]:
        yield from ("; reason ", el("code", visit["reason"]))
    if "error" in visit:
        yield f": {visit['error']}: {visit.get('message', '')}".rstrip(": ")
    for guard in visit["refused"]:
        yield el(
            "div", el("code", f"{guard['transition']} {guard['name']}"), ": no", values(guard["values"]), class_="sub"
        )


def _attempts(turn: Excerpt) -> Html | None:
    """The model calls: one branch for each candidate in turn, its calls under it."""
    attempts = turn.lists["attempts"]
    if not attempts:
        return None
    columns = (
        Column("Call"),
        Column("Cause"),
        Column("Status"),
        Column("Reason"),
        Column("HTTP", "n"),
        Column("Took", "n"),
        Column("Message", "wide"),
    )
    branches = groupby(attempts, key=lambda a: f"{a['provider']}/{a['model']}")
    bodies = [el("tbody", _branch(name, len(columns)), [_attempt(a) for a in calls]) for name, calls in branches]
    return bare_table(
        f"Model calls by candidate{_ends(turn, 'attempts')}",
        columns,
        *bodies,
        label=f"Model calls of {turn.head['turn_id']}",
    )


def _branch(name: str, columns: int) -> Html:
    return el("tr", el("th", el("code", name), scope="rowgroup", colspan=columns))


def _attempt(row: Item) -> Html:
    first = el("strong", " first failure") if row["first_failure"] else None
    look = "bad" if row["status"] == "failed" else "warn" if row["status"] == "running" else None
    cells = (
        (row["cause"], None), ([el("span", row["status"], class_=look), first], None),
        (el("code", row["reason"]) if row["reason"] else "-", None), (row["http_status"] or "-", "n"),
        (took(row["took_ms"]), "n"), (row["message"] or "-", "wide"),
    )  # fmt: skip
    return el(
        "tr",
        el("th", row["n"], scope="row", class_="call"),
        [el("td", cell, class_=name) for cell, name in cells],
    )


def _decisions(turn: Excerpt) -> Html | None:
    columns = (Column("Candidate"), Column("Decision"), Column("Reason"), Column("Rule and values", "wide"))
    rows = [
        (
            el("code", step["candidate"]),
            step["decision"],
            el("code", step["reason"]),
            [el("code", step["rule"]), values(step["values"])],
        )
        for step in turn.lists["fallback"]
    ]
    return _table(turn, "fallback", "Whom fallback considered", columns, rows)


def _tools(turn: Excerpt) -> Html | None:
    columns = (Column("Tool"), Column("Effect"), Column("Status"), Column("Reason"), Column("Took", "n"))
    rows = [
        (
            el("code", t["name"]),
            t["effect"],
            t["status"] or "not ended",
            el("code", t["reason"]) if t["reason"] else "-",
            took(t["took_ms"]),
        )
        for t in turn.lists["tools"]
    ]
    return _table(turn, "tools", "Tool calls", columns, rows)


def _effects(turn: Excerpt) -> Html | None:
    columns = (Column("Effect"), Column("State"), Column("Target", "wide"), Column("Why", "wide"))
    rows = [(e["kind"], e["state"], el("code", e["target"]), _unless_done(e)) for e in turn.lists["effects"]]
    return _table(turn, "effects", "Effects", columns, rows)


def _unless_done(effect: Item) -> object:
    settled = effect["settled_detail"]
    why = settled.get("reason") or settled.get("error") if isinstance(settled, dict) else None
    return why if why and effect["state"] != "done" else "-"


def _table(
    turn: Excerpt, name: str, caption: str, columns: tuple[Column, ...], rows: Sequence[Sequence[object]]
) -> Html | None:
    if not rows:
        return None
    return table(f"{caption}{_ends(turn, name)}", columns, rows, label=f"{caption} of {turn.head['turn_id']}")


def _missing(turn: Excerpt) -> Html | None:
    """What the log does not hold any more, and what this excerpt leaves out."""
    pruned, lost = turn.head["pruned"], turn.head["log_gap"]
    said = [f"{counted(pruned, 'text')} of this turn {were(pruned)} pruned"] if pruned else []
    if lost:
        said.append(f"{counted(lost, 'row')} of it {were(lost)} lost when the log could not be written")
    more = ", ".join(counted(count, PARTS[name]) for name, count in turn.missing.items())
    if more:
        said.append(f"left out here: {more}")
    sentence = "; ".join(said)
    return el("p", f"{sentence[0].upper()}{sentence[1:]}.", class_="note warn") if sentence else None
