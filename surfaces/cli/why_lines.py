"""One turn's answer to "why?": cause before chronology, then the rule, what would have changed it, the evidence.

Owns the order (OPS-12). Pure: from the object of a turn to text. Invariant: what somebody wrote stands in these lines
harmlessly.
"""

from collections.abc import Iterator
from typing import Any

from phasewalk.surfaces.cli.render import coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.show_lines import outcome_colour
from phasewalk.surfaces.cli.stuck import rule_of
from phasewalk.surfaces.cli.times import Zone, ago
from phasewalk.surfaces.cli.why_reasons import causes, deciding, meaning, otherwise, values

Item = dict[str, Any]


def why_item(item: Item, now: int, zone: Zone | None = None) -> Item:
    """The answer as `why --json` prints it; with `zone` a wait is told by its instants, which do not age."""
    rule = deciding(item)
    return {
        "turn_id": item["turn_id"],
        "outcome": item["outcome"],
        "reason": item["reason"],
        "phase": item["phase"],
        "verdict": _verdict(item),
        "causes": list(causes(item)),
        "first_failure": _first_failure(item),
        "rule": rule[0] if rule else None,
        "values": dict(rule[1]) if rule else {},
        "otherwise": otherwise(item) or None,
        "waits": list(_waits(item, now, zone)),
        "stuck": item["stuck"],
    }


def why_lines(item: Item, zone: Zone, now: int) -> Iterator[str]:
    """The lines, broken at the edge of a terminal and nowhere else."""
    told = why_item(item, now)
    first, *rest = wrap(harmless(told["verdict"]), terminal_width(), "  ")
    yield coloured(first, outcome_colour(item["outcome"]))
    yield from rest
    for line in _body(told, item, zone):
        yield from wrap(harmless(line), terminal_width(), " " * (len(line) - len(line.lstrip(" ")) + 2))


def _body(told: Item, item: Item, zone: Zone) -> Iterator[str]:
    yield from (f"  {line}" for line in told["waits"])
    if told["causes"]:
        yield "because"
        yield from (f"  {line}" for line in told["causes"])
    if told["rule"]:
        yield f"decided by {told['rule']}{values(told['values'])}"
    if told["otherwise"]:
        yield f"otherwise: {told['otherwise']}"
    where = f"#{item['channel_name'] or item['channel_id']}"
    yield f"{item['kind']} turn of {item['user_name'] or item['user_id']} in {where}, {zone.full(item['started_us'])} {zone.name}"
    yield f"evidence: phasewalk show {item['turn_id']}"


def _verdict(item: Item) -> str:
    name, outcome = item["turn_id"], item["outcome"]
    if outcome is None:
        state = "is stuck" if item["stuck"] is not None else "has not ended yet"
        return f"turn {name} {state}: it stands in {item['phase']}"
    if outcome == "answered" and item["reason"] == "ok":
        return f"turn {name} was answered by {_answerer(item)}, as it should be"
    return f"turn {name} ended {outcome} in {item['phase']}: {meaning(item['reason'])}"


def _answerer(item: Item) -> str:
    last = next((a for a in reversed(item["attempts"]) if a["status"] == "ok"), None)
    return f"{last['provider']}/{last['model']}" if last else "nobody known"


def _first_failure(item: Item) -> Item | None:
    first = next((a for a in item["attempts"] if a["first_failure"]), None)
    keys = ("provider", "model", "cause", "reason", "http_status", "message")
    return None if first is None else {key: first[key] for key in keys}


def _waits(item: Item, now: int, zone: Zone | None) -> Iterator[str]:
    """For a turn without an end: what it waits for, since when, and what happens when the wait ends."""
    if item["outcome"] is not None:
        return
    last = item["visits"][-1] if item["visits"] else None
    since = item["started_us"] if last is None or last["entered_us"] is None else last["entered_us"]
    yield f"it waits for {_awaited(item)}, since {zone.full(since) if zone else ago(since, now)}"
    if item["stuck"] is not None:
        yield f"nothing moves it: {rule_of(item['stuck'], zone)}"
        yield "when a process of the bot starts, it is settled by what the log says was done; nothing is done twice"
        return
    deadline = item["deadline_us"]
    ends = zone.full(deadline) if zone else ago(deadline, now)
    yield f"its deadline is {ends}; then it gets the time-out notice, and what was done stays in the log"


def _awaited(item: Item) -> str:
    running = next((a for a in item["attempts"] if a["status"] == "running"), None)
    tool = next((t for t in item["tools"] if t["status"] is None), None)
    if item["phase"] == "model_attempt":
        return f"the answer of {running['provider']}/{running['model']}" if running else "its next model call to begin"
    if item["phase"] == "tool_rounds" and tool is not None:
        return f"the tool {tool['name']}"
    if item["phase"] == "deliver":
        return "the surface to take what is to be said"
    return f"the end of {item['phase']}"
