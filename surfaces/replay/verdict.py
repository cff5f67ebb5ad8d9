"""The verdict on a turn that was walked again: the same, different and where first, or not to be told and why.

Owns the comparison, visit by visit. Prints nothing. Invariants: what was not recorded is never taken as the same; the
comparison ends where the two walks part.
"""

import sqlite3

from attrs import define, field, frozen

from phasewalk.machine.documents import digest_of
from phasewalk.machine.reasons import Reason
from phasewalk.machine.text import told
from phasewalk.storage.recorded_turn import RecordedTurn, Stay, Text, recorded_turn
from phasewalk.storage.scratch_log import ScratchLog
from phasewalk.surfaces.comparing import narrowed
from phasewalk.surfaces.replay.doubts import Doubts, doubts_of, hopeless
from phasewalk.surfaces.replay.script import Left
from phasewalk.surfaces.replay.sealed import sealed
from phasewalk.surfaces.replay.sections import Sections, end_of, guards_of, plain, sections
from phasewalk.surfaces.replay.today import Today
from phasewalk.surfaces.replay.walk import walk_again

BEFORE_WORK = ("tools offered", "considered", "model call", "request")
"""What of a visit was decided before the record was left in it."""

CAUSES = {
    "request": (
        "persona", "context", "user", "history", "offered", "tools offered", "model call", "tool", "candidate", "calls",
    ),
    "contract": (
        "families", "selection", "required", "offered", "executable", "candidates", "candidate", "channels", "limits",
        "staff_channel", "capabilities", "asks_back", "stickers", "tool",
    ),
}  # fmt: skip
"""Sections that only sum up others, with those; where one of them differs, the sum is not told as well."""


@frozen
class Difference:
    """Something that today's code decides otherwise: in which visit, which section, both values."""

    visit: int
    phase: str
    section: str
    recorded: object
    today: object


@define
class Verdict:
    """What a replay found. `compared` visits of `visits`; `ends` is the phase in which the record itself ends."""

    record: RecordedTurn
    compared: int = 0
    ends: str | None = None
    why_it_ends: str | None = None
    stopped: str | None = None
    differences: list[Difference] = field(factory=list)
    untold: list[str] = field(factory=list)

    @property
    def word(self) -> str:
        """`same`, `differs` or `untold`."""
        return "differs" if self.differences else "untold" if self.untold else "same"


def replay(log: sqlite3.Connection, scratch: ScratchLog, turn_id: str, now: Today) -> Verdict:
    """Whether today's code would decide the same in this turn of the log; no socket can be opened meanwhile."""
    record = recorded_turn(log, turn_id)
    why = hopeless(record, now)
    if why is not None:
        return Verdict(record, untold=[why])
    try:
        return _judged(log, scratch, record, now)
    except Exception as error:  # noqa: BLE001 - one odd record keeps nobody from being told of the others
        return Verdict(record, untold=[told(f"its record cannot be followed: {type(error).__name__}: {error}")])


def _judged(log: sqlite3.Connection, scratch: ScratchLog, record: RecordedTurn, now: Today) -> Verdict:
    record, ends, why = _up_to_its_end(record)
    doubts = doubts_of(log, record, now)
    verdict = Verdict(record, ends=ends, why_it_ends=why)
    with sealed():
        walked = walk_again(log, scratch, record, now)
    _Comparison(verdict, walked.again, walked.left, doubts).run()
    verdict.untold += [*doubts.open, *([walked.problem] if walked.problem else [])]
    return verdict


def _up_to_its_end(record: RecordedTurn) -> tuple[RecordedTurn, str | None, str | None]:
    """The record up to what no code decides, the phase in which that was, and what it was; None for a whole record."""
    for place, stay in enumerate(record.stays):
        why = _end_of(stay)
        if why is not None:
            open_stay = stay._replace(left=None, event="", transition="", to_phase="")
            return record._replace(stays=[*record.stays[:place], open_stay]), stay.phase, why
    return record, None, None


def _end_of(stay: Stay) -> str | None:
    if stay.left is None:
        return f"the record ends in {stay.phase}"
    if stay.event == "interrupted":
        return f"recovery went on from {stay.phase}"
    failed = stay.event == "crashed" and stay.reason == Reason.LOG_WRITE_FAILED
    return f"the log could not be written in {stay.phase}" if failed else None


@define
class _Comparison:
    """One comparison in progress."""

    verdict: Verdict
    again: RecordedTurn
    left: Left | None
    doubts: Doubts

    def run(self) -> None:
        """Compare visit by visit, then the ends."""
        record, again = self.verdict.record, self.again
        for place in range(len(record.stays)):
            if place >= len(again.stays) or not self._visit(place):
                self._leave()
                return
            self.verdict.compared += 1
        if again.turn["ended_us"] is not None and record.turn["ended_us"] is not None:
            self._compare(len(record.stays) - 1, end_of(record), end_of(again))

    def _visit(self, place: int) -> bool:
        """Compare one visit; whether both walks came to it, and it is over in both."""
        mine, theirs = self.verdict.record.stays[place], self.again.stays[place]
        if mine.phase != theirs.phase:
            return False
        here = self.left is not None and self.left.place == place
        only = BEFORE_WORK if here or mine.left is None or theirs.left is None else None
        self._compare(place, sections(self.verdict.record, place), sections(self.again, place), only)
        if only is not None:
            return False
        self._guards(place, mine, theirs)
        return True

    def _compare(self, place: int, mine: Sections, theirs: Sections, only: tuple[str, ...] | None = None) -> None:
        """What only one side has is told by what it comes from: another event, another candidate, another call."""
        for name in mine:
            compared = name in theirs and (only is None or name in only)
            if compared and not same(mine[name], theirs[name]):
                self._differ(place, name, mine[name], theirs[name])

    def _differ(self, place: int, name: str, mine: object, theirs: object) -> None:
        doubt = self.doubts.of(name)
        if doubt is not None:
            sentence = f"{name}: {doubt}"
            if sentence not in self.verdict.untold:
                self.verdict.untold.append(sentence)
            return
        if any(_is_cause(found.section, name) for found in self.verdict.differences):
            return
        stay = self.verdict.record.stays[place]
        found = Difference(stay.visit, stay.phase, name, *narrowed(plain(mine), plain(theirs)))
        self.verdict.differences.append(found)

    def _guards(self, place: int, mine: Stay, theirs: Stay) -> None:
        """Where another row was taken, what the guards before it answered."""
        if mine.transition != theirs.transition and (mine.guards or theirs.guards):
            self._differ(place, "guards", guards_of(mine), guards_of(theirs))

    def _leave(self) -> None:
        """Say why the comparison ends before the record does."""
        verdict, left = self.verdict, self.left
        if verdict.ends is not None and (left is None or left.untold):
            if not verdict.differences:
                verdict.untold.append(f"{verdict.why_it_ends}; up to there it is the same")
            return
        if left is None:
            return
        verdict.stopped = left.why
        if left.untold:
            verdict.untold.append(left.why)
            return
        told = any(d.section == left.section and d.visit == self._stay(left).visit for d in verdict.differences)
        if not told:
            stay = self._stay(left)
            verdict.differences.append(Difference(stay.visit, stay.phase, left.section, left.recorded, left.today))

    def _stay(self, left: Left) -> Stay:
        return self.verdict.record.stays[min(left.place, len(self.verdict.record.stays) - 1)]


def _is_cause(section: str, of: str) -> bool:
    return any(section == cause or section.startswith(f"{cause} ") for cause in CAUSES.get(of, ()))


def same(mine: object, theirs: object) -> bool:
    """Whether two logged values are the same; a text whose body is gone is compared by its digest."""
    if isinstance(mine, Text) and isinstance(theirs, Text):
        return mine.digest == theirs.digest or (mine.body is not None and mine.body == theirs.body)
    if isinstance(mine, Text) and isinstance(theirs, str):
        return theirs == mine.body if mine.body is not None else digest_of(theirs) == mine.digest
    if isinstance(mine, str) and isinstance(theirs, Text):
        return same(theirs, mine)
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    return mine == theirs
