"""What of two turns can be compared, and where they differ.

Owns the sections: outcome, path, contract, prompt, model calls, tools, effects. Pure. Invariant: times are told and
never count as a difference; what the log holds by content is compared by content.
"""

from collections.abc import Iterator
from typing import Any

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
        if isinstance(value, list) and isinstance(against, list):
            yield name, *_parted(value, against)
        elif isinstance(value, dict) and isinstance(against, dict):
            keys = [key for key in {**value, **against} if value.get(key) != against.get(key)]
            yield name, {key: value.get(key) for key in keys}, {key: against.get(key) for key in keys}
        else:
            yield name, value, against


def _parted(value: list[object], against: list[object]) -> tuple[list[object], list[object]]:
    """Both lists without what they begin and end with alike."""
    begin = 0
    while begin < min(len(value), len(against)) and value[begin] == against[begin]:
        begin += 1
    end = 0
    while end < min(len(value), len(against)) - begin and value[-1 - end] == against[-1 - end]:
        end += 1
    return value[begin : len(value) - end], against[begin : len(against) - end]


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
