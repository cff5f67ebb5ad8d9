"""How a turn is told that a task is due: one sentence, which a model understands and the embedded responder reads.

Owns that sentence. Knows no task and no clock. Invariant: what `reminder_of` makes, `task_in` reads back.
"""

import re

_FORM = re.compile(r"Remind (?P<name>.*?) of task \d+, which is due now: (?P<task>.+)", re.DOTALL)


def reminder_of(user_name: str, number: int, text: str) -> str:
    """The text of a reminder's turn."""
    return f"Remind {user_name} of task {number}, which is due now: {text}"


def task_in(text: str) -> str | None:
    """What is to be reminded of; None where `text` is no reminder."""
    found = _FORM.fullmatch(text)
    return found["task"] if found else None
