"""Is the bot well? From the numbers of a period to one word, its causes, and what to type next (OPS-11).

Owns the order in which faults are told; the thresholds are those of `[check]`. Pure: knows no log, no clock and no way of printing.
Invariant: facts (a turn that hangs, a bot that died) count at once, shares only over enough turns; when neither
decides, the word is UNCLEAR or a count, never WELL. A bot that is paused is never WELL either, and a fault of it is
still told first.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from phasewalk.storage.flags import PAUSED, Flag
from phasewalk.storage.health import HOUR_US, Group, Period, Process
from phasewalk.surfaces.thresholds import Thresholds

Word = Literal["WELL", "NOT WELL", "PAUSED", "UNCLEAR", "TOO FEW TURNS", "NO TURNS"]

ENDED_BADLY = ("stopped", "partial", "undelivered", "expired", "in_doubt", "abandoned")
NOT_DELIVERED = ("undelivered", "in_doubt")
AUTOMATIC = ("own_message", "bot_author", "webhook_author")
"""Why messages that no person wrote open no turn: as ever, and no fault."""

LASTING = ("bot", "worker")
"""Commands that are meant to run until somebody stops them."""


class Stuck(NamedTuple):
    """A turn that does not move."""

    rule: str
    since_us: int


class Evidence(NamedTuple):
    """What a verdict is made of; `span` says in words which period is counted, `limits` from when on it is a fault."""

    now_us: int
    period: Period
    span: str
    stuck: tuple[Stuck, ...]
    processes: tuple[Process, ...]
    limits: Thresholds = Thresholds()
    paused: Flag | None = None


class Cause(NamedTuple):
    """One fault: what, since when (None: not known), and what shows more of it."""

    what: str
    since_us: int | None
    look: str


class Verdict(NamedTuple):
    """The word, one sentence, since when, what to type next, and every fault that was found."""

    word: Word
    why: str
    since_us: int | None
    look: str
    causes: tuple[Cause, ...]


def judge(evidence: Evidence) -> Verdict:
    """The verdict on a period."""
    causes = tuple(cause for fault in FAULTS for cause in [fault(evidence)] if cause is not None)
    if causes:
        first = causes[0]
        return Verdict("NOT WELL", first.what, first.since_us, first.look, causes)
    if evidence.paused is not None:
        return Verdict("PAUSED", "no new turn begins", None, "phasewalk resume", ())
    return _by_numbers(evidence)


def _by_numbers(evidence: Evidence) -> Verdict:
    """The verdict where no fault was found and nothing is paused."""
    total = sum(group.turns for group in evidence.period.groups)
    span = evidence.span
    if total == 0:
        ignored = sum(count for _, count in evidence.period.ignored)
        said = f"none in {span}" + (f", {ignored} messages opened none" if ignored else "")
        return Verdict("NO TURNS", said, None, 'phasewalk turn "hello"', ())
    if total < evidence.limits.turns:
        return Verdict(
            "TOO FEW TURNS", f"{total} in {span}, a verdict needs {evidence.limits.turns}", None, "phasewalk list", ()
        )
    if evidence.period.rows_lost:
        said = f"{evidence.period.rows_lost} rows of the log were lost in {span}"
        return Verdict("UNCLEAR", said, None, 'phasewalk sql "SELECT * FROM log_loss"', ())
    bad = _count(evidence.period.groups, ENDED_BADLY)
    if bad > evidence.limits.unclear * total:
        look = f"phasewalk list --outcome {_worst(evidence.period).outcome}"
        return Verdict("UNCLEAR", f"{bad} of {total} turns of {span} ended badly", _since(evidence.period), look, ())
    return Verdict("WELL", f"{total - bad} of {total} turns of {span} ended as they should", None, "phasewalk list", ())


def _process(evidence: Evidence) -> Cause | None:
    """The process is dead, or deaf: it lives and gives no sign. One that ended in order is missed only when told so."""
    newest = next((p for p in evidence.processes if p.command in LASTING), None)
    if newest is None or newest.state == "ended":
        ended = None if newest is None else newest.ended_us
        return Cause("no bot is running", ended, "phasewalk list") if evidence.limits.running else None
    if newest.state == "gone":
        return Cause(
            f"process {newest.pid} ({newest.command}) died without a word", newest.heartbeat_us, "phasewalk show last"
        )
    if evidence.now_us - newest.heartbeat_us > evidence.limits.silent_us:
        runs = "runs but gives" if newest.state == "alive" else f"on {newest.host} gives"
        said = f"process {newest.pid} ({newest.command}) {runs} no sign of life"
        return Cause(said, newest.heartbeat_us, "phasewalk stuck")
    return None


def _hanging(evidence: Evidence) -> Cause | None:
    """Turns that do not move."""
    if len(evidence.stuck) <= evidence.limits.stuck:
        return None
    gone = sum(turn.rule == "process_gone" for turn in evidence.stuck)
    count = len(evidence.stuck)
    if gone == count:
        died = f" since {'its' if count == 1 else 'their'} process died"
    else:
        died = f", {gone} of them since their process died" if gone else ""
    what = f"{_turns(count)} not moving{died}"
    return Cause(what, min(turn.since_us for turn in evidence.stuck), "phasewalk stuck")


def _ignoring(evidence: Evidence) -> Cause | None:
    """Everything is ignored, in the whole period or in its last hour."""
    period = evidence.period
    look = 'phasewalk sql "SELECT * FROM ignored_message ORDER BY hour_us DESC LIMIT 20"'
    if not period.groups:
        ignored = sum(count for _, count in period.ignored)
        if ignored < evidence.limits.turns:
            return None
        reason, count = period.ignored[0]
        what = f"every message is ignored, {count} of {ignored} for {reason}"
        return None if _meant(evidence, reason) else Cause(what, None, look)
    lately, usual = _of_people(period.ignored_lately), _of_people(period.ignored)
    ignored = sum(lately.values())
    before = sum(usual.values()) - ignored
    turns = sum(group.turns for group in period.groups)
    heard = period.heard_us or 0
    if evidence.now_us - heard < HOUR_US or ignored < evidence.limits.turns_lately:
        return None
    if ignored * turns < evidence.limits.turns_lately * before:
        return None  # where most messages are none of the bot's business, a few of them are no sign
    reason, count = next(iter(lately.items()))
    what = f"every message of the last hour is ignored, {count} of {ignored} for {reason}"
    return None if _meant(evidence, reason) else Cause(what, period.heard_us, look)


def _meant(evidence: Evidence, reason: str) -> bool:
    """Whether it is the pause that keeps the bot from hearing, which the verdict tells by itself."""
    return evidence.paused is not None and reason == PAUSED


def _of_people(ignored: tuple[tuple[str, int], ...]) -> dict[str, int]:
    """What no machine wrote."""
    return {reason: count for reason, count in ignored if reason not in AUTOMATIC}


def _undelivered(evidence: Evidence) -> Cause | None:
    """Answers are made but not delivered, in the whole period or in its last hour."""
    limits = evidence.limits
    groups = [group for group in evidence.period.groups if group.outcome in NOT_DELIVERED]
    tried = [g for g in evidence.period.groups if g.outcome in ("answered", "partial", *NOT_DELIVERED)]
    ever = (sum(g.turns for g in groups), sum(g.turns for g in tried))
    lately = (sum(g.lately for g in groups), sum(g.lately for g in tried))
    share = _share(ever, limits.failed, limits, "answers")
    share = share or _share(lately, limits.failed, limits, "answers of the last hour")
    if not share:
        return None
    what = f"{share} were made and not delivered{_mostly(groups[0])}"
    return Cause(what, min(group.first_us for group in groups), f"phasewalk list --outcome {groups[0].outcome}")


def _failing(evidence: Evidence) -> Cause | None:
    """Turns fail, in the whole period or in its last hour."""
    period = evidence.period
    lately, total = sum(g.lately for g in period.groups), sum(g.turns for g in period.groups)
    bad_lately = sum(g.lately for g in period.groups if g.outcome in ENDED_BADLY)
    bad = _count(period.groups, ENDED_BADLY)
    if total >= evidence.limits.turns and bad > evidence.limits.failed * total:
        share = f"{bad} of {total} turns of {evidence.span} ended badly"
    elif lately >= evidence.limits.turns_lately and bad_lately > evidence.limits.failed * lately:
        share = f"{bad_lately} of {lately} turns of the last hour ended badly"
    else:
        return None
    worst = _worst(period)
    return Cause(f"{share}{_mostly(worst)}", _since(period), f"phasewalk list --outcome {worst.outcome}")


def _unheard(evidence: Evidence) -> Cause | None:
    """People who spoke to the bot got nothing."""
    addressed = sum(group.addressed for group in evidence.period.groups)
    nothing = evidence.period.got_nothing
    if addressed < evidence.limits.turns_lately or nothing <= evidence.limits.failed * addressed:
        return None
    what = f"{nothing} of {addressed} who spoke to the bot got nothing"
    return Cause(what, None, 'phasewalk sql "SELECT * FROM silent_turns"')


def _canned(evidence: Evidence) -> Cause | None:
    """What is delivered are fixed notices, in the whole period or in its last hour, or always the same words."""
    limits, groups = evidence.limits, evidence.period.groups
    who = "who spoke to the bot"
    ever = (sum(g.noticed for g in groups), sum(g.addressed for g in groups))
    lately = (sum(g.noticed_lately for g in groups), sum(g.addressed_lately for g in groups))
    share = _share(ever, limits.canned, limits, who) or _share(lately, limits.canned, limits, f"{who} lately")
    if share:
        return Cause(f"{share} got a fixed notice", None, "phasewalk list --where \"owner = 'notice'\"")
    same = _share(evidence.period.repeated, limits.canned, limits, "answers of the last hour")
    return Cause(f"{same} are the same words", None, "phasewalk show last") if same else None


def _doubtful(evidence: Evidence) -> Cause | None:
    """Something may or may not have happened, and somebody has to find out."""
    doubts = evidence.period.in_doubt
    if doubts <= evidence.limits.in_doubt:
        return None
    what = f"{doubts} effect{'s' if doubts > 1 else ''} may or may not have happened"
    return Cause(what, None, 'phasewalk sql "SELECT * FROM effects_in_doubt"')


def _quiet(evidence: Evidence) -> Cause | None:
    """The newest turn is older than it may be, where a limit was set."""
    limit = evidence.limits.newest_us
    newest = max((group.last_us for group in evidence.period.groups), default=0)
    if limit is None or evidence.now_us - newest <= limit:
        return None
    return Cause("no turn began for longer than 'newest' allows", newest or None, "phasewalk list")


FAULTS = (_process, _hanging, _ignoring, _undelivered, _failing, _unheard, _canned, _doubtful, _quiet)
"""In the order in which they are told: what stops everything first."""


def by_outcome(groups: Iterable[Group]) -> list[tuple[str, int, int]]:
    """(outcome, turns of the last hour, turns), those that ended badly first, then by number."""
    counted: dict[str, list[int]] = {}
    for group in groups:
        sums = counted.setdefault(group.outcome, [0, 0])
        sums[0] += group.lately
        sums[1] += group.turns
    order = sorted(counted, key=lambda name: (name not in ENDED_BADLY, -counted[name][1], name))
    return [(name, *counted[name]) for name in order]  # type: ignore[misc]  # two numbers each


def _share(found: tuple[int, int], limit: float, limits: Thresholds, what: str) -> str:
    """`3 of 4 answers`, where these are enough to judge by and more than the limit; else nothing."""
    some, of_all = found
    return f"{some} of {of_all} {what}" if of_all >= limits.turns_lately and some > limit * of_all else ""


def _count(groups: tuple[Group, ...], outcomes: tuple[str, ...]) -> int:
    return sum(group.turns for group in groups if group.outcome in outcomes)


def _worst(period: Period) -> Group:
    """The largest group of turns that ended badly."""
    return max((g for g in period.groups if g.outcome in ENDED_BADLY), key=lambda group: group.turns)


def _since(period: Period) -> int:
    """When the first turn of the worst group began."""
    return _worst(period).first_us


def _mostly(group: Group) -> str:
    return f", mostly {group.reason}"


def _turns(count: int) -> str:
    return "1 turn is" if count == 1 else f"{count} turns are"
