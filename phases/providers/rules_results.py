"""What the embedded responder says after its tool calls: only what the results support.

Owns the sentences for the tools that ship and one for every other. Does not know how a call was chosen.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from phasewalk.machine.exchange import Exchange, ToolResult
from phasewalk.machine.text import clipped

SHOWN = 1500
"""Characters of a result that an answer shows; one message of a chat holds 2,000."""

_NOT_RUN = ("refused", "not_executed")
_Document = Mapping[str, Any]


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
    except (KeyError, TypeError, AttributeError):  # another tool of that name, or a result of another form
        return f"{name}: {clipped(result.text, SHOWN)}"


def _document(text: str) -> _Document | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _list(result: _Document, key: str, some: str, line: Callable[[_Document], str] | None = None) -> str:
    """`some`, then the last items that there is room for, one a line, and how many earlier ones there are."""
    items = result[key]
    lines: list[str] = []
    left = SHOWN - len(some) - 60
    for item in reversed(items):
        shown = line(item) if line is not None else f"{item['number']}: {item['text']}"
        left -= len(shown) + 1
        if lines and left < 0:
            break
        lines.insert(0, shown if left >= 0 else clipped(shown, left + len(shown)))
    missing = len(items) - len(lines) + result.get("left_out", 0)
    rest = [f"({missing} earlier {'one is' if missing == 1 else 'ones are'} not shown.)"] if missing else []
    return "\n".join([some, *lines, *rest])


def _notes_list(result: _Document) -> str:
    if result["notes"]:
        return _list(result, "notes", "Your notes here:")
    sought = result.get("sought")
    return f'None of your notes here holds "{sought}".' if sought else "You have no notes here."


def _notes_delete(result: _Document) -> str:
    number = result["number"]
    return f"Note {number} is deleted." if result["deleted"] else f"You have no note {number}; nothing was deleted."


def _memory_recall(result: _Document) -> str:
    facts = result["facts"]
    return _list(result, "facts", "What I remember about you:") if facts else "I remember nothing about you that fits."


def _memory_forget(result: _Document) -> str:
    number = result["number"]
    return (
        f"Fact {number} is forgotten."
        if result["forgotten"]
        else f"I remember no fact {number} about you; nothing was forgotten."
    )


def _tasks_add(result: _Document) -> str:
    if result["added"] is None:
        return f"The task was not kept: {result['problem']}."
    due = f"due {result['due']}" if result["due"] else "without a due time"
    return f"Kept as task {result['added']}: {clipped(result['text'], SHOWN - 100)}, {due}."


def _tasks_list(result: _Document) -> str:
    return _list(result, "tasks", "Your tasks here:", _task) if result["tasks"] else "You have no open tasks here."


def _task(task: _Document) -> str:
    known = [f"{word} {task[word]}" for word in ("due", "done") if word in task]
    return f"{task['number']}: {task['text']}" + (f" ({', '.join(known)})" if known else "")


def _tasks_complete(result: _Document) -> str:
    number = result["number"]
    return f"Task {number} is done." if result["completed"] else f"You have no open task {number}; nothing was changed."


def _history_search(result: _Document) -> str:
    sought, back = result["sought"], result.get("searched_back_to")
    limits = f" I searched back to {back} only." if back else ""
    if not result["found"]:
        return f'Nothing that was said here holds "{sought}".{limits}'
    return _list(result, "found", f'What was said with "{sought}", the newest last:{limits}', _said)


def _said(hit: _Document) -> str:
    return f"{hit['at']} {hit['author']}: {hit['text']}"


_SENTENCES: Mapping[str, Callable[[_Document], str]] = {
    "notes_add": lambda result: f"Kept as note {result['added']}: {result['text']}",
    "notes_list": _notes_list,
    "notes_delete": _notes_delete,
    "memory_remember": lambda result: f"Remembered as fact {result['remembered']}: {result['text']}",
    "memory_recall": _memory_recall,
    "memory_forget": _memory_forget,
    "tasks_add": _tasks_add,
    "tasks_list": _tasks_list,
    "tasks_complete": _tasks_complete,
    "history_search": _history_search,
}
