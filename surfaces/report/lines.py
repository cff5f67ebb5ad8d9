"""What is shown, for programs: one JSON object a line.

Owns the kinds of lines. Knows no HTML. Invariant: a line holds what the page shows and nothing that it leaves out, is
one line, and every character in it can be seen.
"""

import json
from collections.abc import Iterable, Iterator

from phasewalk.storage.queries import Row
from phasewalk.surfaces.cli.times import rfc3339
from phasewalk.surfaces.cli.verdict import by_outcome
from phasewalk.surfaces.report.facts import Facts, Traffic

SCHEMA_VERSION = 1


def lines_of(facts: Facts) -> Iterator[str]:
    """Everything on the page but its turns."""
    yield line("verdict", _verdict(facts))
    for kind, some in (("stuck", facts.stuck), ("fallback", facts.fallback), ("failure", facts.failures)):
        yield from (line(kind, row) for row in some.rows)
    yield from (line("heat", row) for traffic in facts.traffic for row in _heat(traffic))
    yield from (line("phase", row) for row in facts.phases.rows)
    yield from (line("model", row) for row in facts.models.rows)


def line(kind: str, row: Row) -> str:
    """One object; what cannot be seen stands in it as an escape, which is the same JSON.

    A turn's own kind is called `turn_kind`.
    """
    told = {"turn_kind" if name == "kind" else name: value for name, value in row.items()}
    text = json.dumps({"kind": kind, "schema_version": SCHEMA_VERSION, **told}, ensure_ascii=False)
    return text if text.isprintable() else "".join(_seen(text))


def _seen(text: str) -> Iterable[str]:
    return (c if c.isprintable() else json.dumps(c)[1:-1] if c != "\x7f" else "\\u007f" for c in text)


def _verdict(facts: Facts) -> Row:
    found, verdict, covered = facts.evidence.period, facts.verdict, facts.covered
    return {
        "verdict": verdict.word,
        "why": verdict.why,
        "since": rfc3339(verdict.since_us),
        "causes": [{"what": c.what, "since": rfc3339(c.since_us), "look": c.look} for c in verdict.causes],
        "next": verdict.look,
        "outcomes": {name: turns for name, _, turns in by_outcome(found.groups)},
        "running": found.running,
        "stuck": len(facts.evidence.stuck),
        "got_nothing": found.got_nothing,
        "in_doubt": found.in_doubt,
        "ignored": dict(found.ignored),
        "candidates": [asked._asdict() for asked in found.asked],
        "rows_lost": found.rows_lost,
        "coverage": {
            "from": rfc3339(covered.from_us),
            "to": rfc3339(covered.to_us),
            "turns": covered.turns,
            "pruned_before": rfc3339(covered.pruned_before_us),
            "rows_lost": covered.rows_lost,
        },
    }


def _heat(traffic: Traffic) -> Iterator[Row]:
    for (phase, row, following), count in sorted(traffic.heat.items()):
        yield {
            "machine": traffic.document.get("name"),
            "from": phase,
            "transition": row,
            "to": following,
            "count": count,
        }
