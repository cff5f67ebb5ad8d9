"""What the embedded responder says after its tool calls: only what the results support.

Owns the sentences for the tools that ship and one for every other. Does not know how a call was chosen.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from phasewalk.machine.text import clipped
from phasewalk.machine.turn import Exchange, ToolResult

SHOWN = 1500
"""Characters of a result that an answer shows; one message of a chat holds 2,000."""

_NOT_RUN = ("refused", "not_executed")


def answer_from(exchanges: Iterable[Exchange]) -> str:
    """The answer to a message whose calls came back with these results, one line or list for each."""
    return "\n".join(_sentence(result) for exchange in exchanges for result in exchange.results)


def _sentence(result: ToolResult) -> str:
    name = result.call.name
    if result.status != "ok":
        known = "It was not done" if result.status in _NOT_RUN else "I cannot say that it was done"
        return f"{known}. {name}: {clipped(result.text, SHOWN)}"
    say = _SENTENCES.get(name)
    document = _document(result.text)
    if say is None or document is None:
        return f"{name}: {clipped(result.text, SHOWN)}"
    try:
        return clipped(say(document), SHOWN)
    except (KeyError, TypeError):  # another tool of that name, or a result that was cut
        return f"{name}: {clipped(result.text, SHOWN)}"


def _document(text: str) -> Mapping[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _listed(items: list[Mapping[str, Any]], some: str, none: str) -> str:
    return "\n".join([some, *(f"{item['number']}: {item['text']}" for item in items)]) if items else none


def _notes_delete(result: Mapping[str, Any]) -> str:
    number = result["number"]
    return f"Note {number} is deleted." if result["deleted"] else f"You have no note {number}; nothing was deleted."


def _memory_forget(result: Mapping[str, Any]) -> str:
    number = result["number"]
    return (
        f"Fact {number} is forgotten."
        if result["forgotten"]
        else f"I remember no fact {number} about you; nothing was forgotten."
    )


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "notes_add": lambda result: f"Kept as note {result['added']}: {result['text']}",
    "notes_list": lambda result: _listed(result["notes"], "Your notes here:", "You have no notes here."),
    "notes_delete": _notes_delete,
    "memory_remember": lambda result: f"Remembered as fact {result['remembered']}: {result['text']}",
    "memory_recall": lambda result: _listed(
        result["facts"], "What I remember about you:", "I remember nothing about you that fits."
    ),
    "memory_forget": _memory_forget,
}
