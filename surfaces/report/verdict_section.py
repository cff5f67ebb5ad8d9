"""The first thing on the page: is the bot well, since when, what changed then, and what to type.

Owns how a verdict looks. Knows no threshold. Invariant: the word stands in letters, its colour says nothing more.
"""

from collections.abc import Iterator

from phasewalk.storage.changes import Start
from phasewalk.storage.flags import Flag
from phasewalk.storage.health import Asked
from phasewalk.surfaces.cli.changes_said import changes_said
from phasewalk.surfaces.cli.evidence import figures_of
from phasewalk.surfaces.cli.verdict import ENDED_BADLY, Evidence, Verdict, by_outcome
from phasewalk.surfaces.report.html import Html, el, join
from phasewalk.surfaces.report.pieces import Column, Frame, bar, command, counted, kind, number, section, table

LOOKS = {"WELL": "good", "NOT WELL": "bad"}
MOST_ASKED = 8


def verdict_section(evidence: Evidence, verdict: Verdict, start: Start | None, frame: Frame) -> Html:
    """The verdict on a period with the counts that it rests on."""
    title = join([el("span", "Verdict"), verdict.word])
    others = [el("li", cause.what, " ", command(cause.look)) for cause in verdict.causes[1:]]
    return section(
        "verdict",
        title,
        el("p", verdict.why, class_="lead"),
        el("p", *_since(verdict, start, frame)) if verdict.since_us is not None else None,
        _paused(evidence.paused, frame) if evidence.paused is not None else None,
        [el("p", "Also:"), el("ul", others, class_="why")] if others else None,
        el("p", "Next: ", command(verdict.look)),
        _figures(evidence),
        _outcomes(evidence),
        _asked(evidence.period.asked),
        _ignored(evidence.period.ignored),
        look=f"verdict {LOOKS.get(verdict.word, 'warn')}",
    )


def _since(verdict: Verdict, start: Start | None, frame: Frame) -> Iterator[object]:
    yield from ("Since ", frame.moment(verdict.since_us), ".")
    if start is not None:
        began = start.process
        yield f" The last start before that: process {began.pid} ({began.command}, version {began.version}), "
        yield from (frame.moment(began.started_us), ".")
        if start.changes is not None:
            yield from (" It changed ", el("code", changes_said(start.changes)), ".")


def _paused(flag: Flag, frame: Frame) -> Html:
    note = f": {flag.note}" if flag.note else ""
    return el("p", "Paused since ", frame.moment(flag.since_us), f" by {flag.set_by}{note}.")


def _figures(evidence: Evidence) -> Html:
    return el(
        "dl",
        [
            el("div", el("dt", name.replace("_", " ")), el("dd", number(count)))
            for name, count in figures_of(evidence).items()
        ],
        class_="figures",
    )


def _outcomes(evidence: Evidence) -> Html | None:
    """How turns ended, those that ended badly first."""
    groups = by_outcome(evidence.period.groups)
    total = sum(turns for _, _, turns in groups)
    rows = [
        (kind(None if name == "running" else name), number(turns), f"{turns / total:.1%}", _share(name, turns, total))
        for name, _, turns in groups
    ]
    columns = (Column("Outcome"), Column("Turns", "n"), Column("Share", "n"), Column("Bar", "bar"))
    return table("How the turns of this period ended", columns, rows, label="Outcomes") if rows else None


def _share(name: str, turns: int, total: int) -> Html:
    look = "open" if name == "running" else "ill" if name in ENDED_BADLY else "ok"
    return bar(0, turns / total, f"{turns:,} of {counted(total, 'turn')} {name}", look)


def _asked(asked: tuple[Asked, ...]) -> Html | None:
    rows = [(el("code", a.candidate), number(a.attempts), number(a.failed)) for a in asked[:MOST_ASKED]]
    columns = (Column("Candidate"), Column("Calls", "n"), Column("Failed", "n"))
    return table("Which models were asked", columns, rows, label="Models asked") if rows else None


def _ignored(ignored: tuple[tuple[str, int], ...]) -> Html | None:
    told = ", ".join(f"{number(count)} {reason}" for reason, count in ignored)
    return (
        el(
            "p",
            f"Messages that opened no turn, by whole hours: {told}.",
            class_="note muted",
        )
        if told
        else None
    )
