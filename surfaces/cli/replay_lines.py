"""What a replay found, as lines and as an object: the first difference first, both sides of each."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import define, field

from phasewalk.surfaces.cli.render import both_sides, coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import Zone, rfc3339

if TYPE_CHECKING:
    from phasewalk.surfaces.replay.verdict import Difference, Verdict

COLOURS = {"same": "32", "differs": "31", "untold": "33"}
SAID = {"same": "the same", "differs": "differ", "untold": "could not be told"}


@define
class Tally:
    """What many turns come to."""

    counts: Counter[str] = field(factory=Counter)
    untold: list[str] = field(factory=list)

    def noted(self, verdict: "Verdict") -> "Verdict":
        """The verdict, counted."""
        self.counts[verdict.word] += 1
        if verdict.untold:
            why = "; ".join(verdict.untold)
            self.untold.append(f"turn {verdict.record.turn_id} could not be told whole: {why}")
        return verdict

    @property
    def turns(self) -> int:
        """How many."""
        return self.counts.total()

    @property
    def sentence(self) -> str:
        """The counts in words."""
        return f"{self.turns} turns: " + ", ".join(f"{self.counts[word]} {said}" for word, said in SAID.items())


def verdict_lines(verdict: "Verdict", zone: Zone) -> Iterator[str]:
    """The verdict, then each difference with what was recorded (`-`) and what today's code decides (`+`)."""
    turn = verdict.record.turn
    when = f"{zone.full(int(str(turn['started_us'])))} {zone.name}"
    head = f"turn {verdict.record.turn_id} of {when}: {_said(verdict)}"
    yield from wrap(coloured(harmless(head), COLOURS[verdict.word]), terminal_width(), "  ")
    for found in verdict.differences:
        yield harmless(f"{_place(found)}: {found.section}")
        yield from both_sides(found.recorded, found.today)
    if verdict.stopped and verdict.differences:
        yield from wrap(harmless(f"there the record ends: {verdict.stopped}"), terminal_width(), "  ")
    for sentence in verdict.untold:
        yield from wrap(harmless(f"could not tell: {sentence}"), terminal_width(), "  ")


def _said(verdict: "Verdict") -> str:
    turn, count = verdict.record.turn, verdict.compared
    walked = f"{count} visit{'' if count == 1 else 's'} compared"
    match verdict.word:
        case "same":
            return f"today's code decides the same, {turn['outcome']} ({turn['reason']}); {walked}"
        case "differs":
            first = verdict.differences[0]
            return f"today's code decides otherwise, first in {_place(first)}: {first.section}; {walked}"
        case _:
            return f"it could not be told whether today's code decides the same; {walked}"


def _place(found: "Difference") -> str:
    return found.phase if found.visit == 1 else f"{found.phase} ({found.visit})"


def verdict_item(verdict: "Verdict") -> dict[str, Any]:
    """The object of a turn; every key is always there, ids are texts."""
    turn = verdict.record.turn
    return {
        "turn_id": verdict.record.turn_id,
        "machine": turn["machine"],
        "started": rfc3339(int(str(turn["started_us"]))),
        "outcome": turn["outcome"],
        "reason": turn["reason"],
        "verdict": verdict.word,
        "visits": len(verdict.record.stays),
        "compared": verdict.compared,
        "record_ends": verdict.ends,
        "differences": [
            {
                "phase": found.phase,
                "visit": found.visit,
                "section": found.section,
                "recorded": found.recorded,
                "today": found.today,
            }
            for found in verdict.differences
        ],
        "stopped": verdict.stopped,
        "untold": verdict.untold,
    }
