"""What every section is made of: times, ids, tables, bars, and the sentence about what is left out.

Owns their form. Knows no section. Invariant: every table has a caption and header cells, every picture a title, and
what is wider than a narrow screen scrolls in a box of its own that the keyboard reaches.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from phasewalk.surfaces.cli.show_lines import GOOD
from phasewalk.surfaces.cli.times import Zone, lasting, rfc3339
from phasewalk.surfaces.cli.verdict import ENDED_BADLY
from phasewalk.surfaces.report.html import Html, el

Link = Callable[[str], str | None]
"""Where more of a turn stands; None where nothing does."""


class Frame(NamedTuple):
    """What a section has to know of the page that it stands on."""

    zone: Zone
    link: Link

    def moment(self, us: object) -> Html:
        """An instant as people read it, and for programs; `-` for none."""
        if us is None:
            return Html("-")
        instant = int(str(us))
        return el("time", self.zone.full(instant), datetime=rfc3339(instant))

    def turn(self, turn_id: object) -> Html:
        """A turn's id, leading to where more of it stands."""
        href = self.link(str(turn_id))
        return el("a", turn_id, href=href, class_="id") if href else el("code", turn_id, class_="id")


class Column(NamedTuple):
    """The head of a column; `look` is a class of its cells."""

    title: str
    look: str | None = None


def number(value: object) -> str:
    """A number with its thousands apart; `-` for none."""
    return "-" if value is None else f"{int(str(value)):,}"


def counted(count: int, what: str, several: str | None = None) -> str:
    """`1 turn`, `2,000 turns`."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"


def were(count: int) -> str:
    """The verb behind a count."""
    return "was" if count == 1 else "were"


def took(ms: object) -> str:
    """A span of milliseconds; `-` for none."""
    return "-" if ms is None else lasting(float(str(ms)) / 1000)


def whose(row: Mapping[str, object]) -> str:
    """Who spoke where, by name where there is one."""
    return f"{row['user_name'] or row['user_id']} in #{row['channel_name'] or row['channel_id']}"


def command(line: str) -> Html:
    """What to type."""
    return el("code", line, class_="type")


def kind(outcome: object) -> Html:
    """How a turn ended, as a small sign; the word says it, the colour repeats it."""
    return el("span", outcome or "running", class_=f"kind {look_of(outcome)}")


def look_of(outcome: object) -> str:
    """Good or bad where the verdict counts it as that; `warn` for what is neither."""
    return "good" if outcome in GOOD else "bad" if outcome in ENDED_BADLY else "warn"


def table(caption: object, columns: Sequence[Column], rows: Iterable[Sequence[object]], *, label: str) -> Html:
    """Rows under heads; the first cell of each row is its header. `label` names the box that it scrolls in."""
    body = el("tbody", [_row(columns, row) for row in rows])
    return bare_table(caption, columns, body, label=label)


def bare_table(caption: object, columns: Sequence[Column], *bodies: object, label: str) -> Html:
    """A table whose bodies are made already."""
    head = el("thead", el("tr", [el("th", c.title, scope="col", class_=c.look) for c in columns]))
    return scroll(el("table", el("caption", caption), head, *bodies), label)


def _row(columns: Sequence[Column], cells: Sequence[object]) -> Html:
    first, *others = cells
    return el(
        "tr",
        el("th", first, scope="row", class_=columns[0].look),
        [el("td", cell, class_=column.look) for column, cell in zip(columns[1:], others, strict=True)],
    )


def scroll(content: Html, label: str) -> Html:
    """A box that scrolls by itself where the screen is narrow."""
    return el("div", content, class_="scroll", role="region", aria_label=label, tabindex="0")


def section(name: str, title: object, *content: object, look: str | None = None) -> Html:
    """A section of the page, to which a link can lead."""
    return el(
        "section", el("h2", title, id=f"{name}-title"), *content, id=name, aria_labelledby=f"{name}-title", class_=look
    )


def folded(title: object, *content: object, look: str | None = None) -> Html:
    """What is looked at only when it is asked for."""
    return el("details", el("summary", title), *content, class_=look)


def left_out(count: int, what: str) -> Html | None:
    """The sentence that an excerpt ends with; None where nothing is missing."""
    return el("p", f"Left out here: {counted(count, what)} more.", class_="note muted") if count else None


def bar(start: float, width: float, title: str, look: str = "ok") -> Html:
    """One bar on its track; `start` and `width` are shares of the whole, and a short one is wide enough to be seen."""
    wide = min(max(width, 0.005), 1.0)
    left = min(max(start, 0.0), 1.0 - wide)
    track = el("rect", class_="track", x="0", y="2", width="100%", height="10", rx="2")
    shape = el("rect", class_=look, x=_percent(left), y="2", width=_percent(wide), height="10", rx="2")
    return el("svg", el("title", title), track, shape, class_="bars", role="img")


def _percent(share: float) -> str:
    return f"{share * 100:.2f}%"
