"""`phasewalk check`: is the bot well, in one line, for cron and for monitors."""

from typing import Any

import click

from phasewalk.storage.health import HOUR_US
from phasewalk.storage.queries import Row, stuck_turns
from phasewalk.surfaces.cli.evidence import evidence_of, figures_of
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.output import emit, exclusive, json_options, print_items
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.times import lasting, now_us, rfc3339
from phasewalk.surfaces.cli.verdict import LASTING, Evidence, Verdict, judge
from phasewalk.surfaces.cli.where import opened_log, thresholds

STATUS = {"WELL": Exit.OK, "QUIET": Exit.OK, "NOT WELL": Exit.CONDITION, "PAUSED": Exit.CONDITION}
TOLD_IN_HOURS = 48
FEW = ("TOO FEW TURNS", "NO TURNS")


@click.command(
    epilog="\b\nExamples:\n  phasewalk check || mail -s 'the bot' me@example.org\n  phasewalk --config bot.toml check --json\n\n"
    "\b\nExit codes: 0 well, 1 not well or paused, 2 usage or wrong thresholds, 4 it cannot be told,\nor the log cannot be read.",
)
@json_options
@click.pass_obj
def command(obj: dict[str, Any], /, *, as_json: bool, jsonl: bool) -> None:
    """Say in one line whether the bot is well, by the thresholds of [check].

    With too few turns to judge by, a bot that runs is QUIET and well; without one it cannot be told.
    """
    exclusive(json=as_json, jsonl=jsonl)
    limits, now = thresholds(obj), now_us()
    hours = limits.period_us // HOUR_US
    span = f"the last {f'{hours} h' if 0 < hours <= TOLD_IN_HOURS else lasting(limits.period_us / 1_000_000)}"
    with opened_log(obj) as log:
        evidence = evidence_of(
            log, stuck_turns(log), since_us=max(now - limits.period_us, 0), now_us=now, span=span, limits=limits
        )
        verdict = judge(evidence)
        word = _word(evidence, verdict)
        if as_json or jsonl:
            print_items(log, [_item(word, evidence, verdict)], jsonl=jsonl)
        else:
            emit([harmless(f"{word}: {verdict.why}; {_counts(evidence)}")])
    status = STATUS.get(word, Exit.UNREADABLE)
    if status:
        raise SystemExit(int(status))


def _word(evidence: Evidence, verdict: Verdict) -> str:
    """Where there are too few turns for shares, that somebody runs and nothing is wrong is enough."""
    runs = any(p.command in LASTING and p.state in ("alive", "unknown") for p in evidence.processes)
    return "QUIET" if verdict.word in FEW and runs else verdict.word


def _counts(evidence: Evidence) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in figures_of(evidence).items())


def _item(word: str, evidence: Evidence, verdict: Verdict) -> Row:
    return {
        "verdict": word,
        "why": verdict.why,
        "since": rfc3339(verdict.since_us),
        "period": evidence.span,
        **figures_of(evidence),
        "causes": [cause.what for cause in verdict.causes],
        "next": verdict.look,
    }
