"""What of two turns can be compared, and where they differ.

Owns the sections: outcome, path, contract, prompt, model calls, tools, effects. Pure. Invariant: times are told and
never count as a difference; what the log holds by content is compared by content.
"""

from collections.abc import Iterator
from typing import Any

from phasewalk.surfaces.comparing import narrowed

Item = dict[str, Any]


def sections(item: Item) -> dict[str, object]:
    """A turn by section, as values that are equal where the turns did the same."""
    contract = item["contract"] or {}
    prompt = _prompt(item)
    return {
        "outcome": f"{item['outcome'] or 'running'}, {item['reason'] or 'no reason yet'}",
        "asked": item["question"],
        "path": [str(visit["transition"] or visit["phase"]) for visit in item["visits"]],
        "families": contract.get("families"),
        "offered": contract.get("offered"),
        "candidates": [f"{c['provider']}/{c['model']}" for c in contract.get("candidates", ())],
        "channels": contract.get("channels"),
        "limits": contract.get("limits"),
        "persona": prompt.get("persona"),
        "context": _undated(prompt.get("context")),
        "history": _count(prompt.get("history")),
        "model calls": [_call(attempt) for attempt in item["attempts"]],
        "tools": [f"{tool['name']} {tool['status']}" for tool in item["tools"]],
        "effects": [f"{effect['kind']} {effect['state']} in {effect['target']}" for effect in item["effects"]],
        "answer": item["answer"],
        "notice": item["notice_code"],
    }


def differences(one: Item, other: Item) -> Iterator[tuple[str, object, object]]:
    """Each section in which they differ, with both sides; of lists only what is not alike, in their order."""
    mine, theirs = sections(one), sections(other)
    for name, value in mine.items():
        against = theirs[name]
        if value == against:
            continue
        yield name, *narrowed(value, against)


def _prompt(item: Item) -> Item:
    built = [visit["exit"] for visit in item["visits"] if visit["phase"] == "build_prompt" and visit["event"]]
    found = built[-1].get("prompt") if built else None
    return dict(found) if isinstance(found, dict) else {}


def _undated(context: object) -> object:
    """The context without date and time, which differ between any two turns."""
    if not isinstance(context, str):
        return context
    return "\n".join(line for line in context.splitlines() if not line.startswith(("Date: ", "Time: ")))


def _count(runs: object) -> int | None:
    """How many entries of history a prompt showed, of their numbers as runs."""
    return sum(last - first + 1 for first, last in runs) if isinstance(runs, list) else None


def _call(attempt: Item) -> str:
    because = f" {attempt['reason']}" if attempt["reason"] else ""
    return f"{attempt['cause']} {attempt['provider']}/{attempt['model']} {attempt['status']}{because}"
