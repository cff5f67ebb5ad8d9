"""What goes to a model and comes back: history, prompt, calls of tools with their results, replies.

Frozen values; each says how the log's phase rows hold it. Knows no provider and no wire.
"""

import json

from attrs import frozen

from phasewalk.machine.reasons import Reason

UNKNOWN_OUTCOME = "stopped before it ended: outcome unknown"
"""What a model and history are told of a call that was begun and never came back."""

NOT_EXECUTED = "not executed: the turn was stopped first"
"""What they are told of one that was not begun."""


@frozen
class HistoryEntry:
    """One entry of the conversation. `entry_id` is its row in the log, `seen` whether people saw it (ENV-32).

    An entry of role `tool` carries its `call`; `unit` ties it to the others of its round (ENV-11).
    """

    role: str
    text: str
    author: str = ""
    author_id: str = ""
    entry_id: int = 0
    unit: str = ""
    channel_id: str = ""
    call: "ToolCall | None" = None
    seen: bool = True


@frozen
class Prompt:
    """What every model call of the turn is built from; frozen in build_prompt (ENV-20, ENV-35).

    `persona` is byte-stable, `context` follows it in the system message, `user` is the JSON of the person's
    message and everything that outsiders wrote (ENV-28). `images` are addresses, https or data, of the images
    of the message. `structured` says that an envelope is due; else any text is an answer.
    """

    persona: str
    context: str
    history: tuple[HistoryEntry, ...]
    user: str
    prefix_digest: str
    estimated_tokens: int = 0
    images: tuple[str, ...] = ()
    structured: bool = True

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold; history by the rows of `message` that it shows (LOG-12)."""
        return {
            "persona": self.persona,
            "context": self.context,
            "user": json.loads(self.user),
            "history": _runs([entry.entry_id for entry in self.history]),
            "estimated_tokens": self.estimated_tokens,
        }


@frozen
class ToolCall:
    """A call that a model asked for. `call_id` is ours, `provider_id` stays on the wire (CON-21)."""

    call_id: str
    provider_id: str
    name: str
    arguments: str


def canonical(arguments: str) -> str:
    """The arguments of a call as one text for equal values: keys sorted, no blanks; what is no JSON stays as it is."""
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return arguments
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def identity(call: ToolCall) -> tuple[str, str]:
    """What makes two calls the same: the tool, and equal arguments however they are written (CON-24)."""
    return call.name, canonical(call.arguments)


@frozen
class ToolResult:
    """What the model is told about a call. `status` is one of the log's; `text` is safe to send."""

    call: ToolCall
    status: str
    text: str
    reason: Reason | None = None


@frozen
class Exchange:
    """One round: the calls of one reply and a result for each.

    `items` are the reply's own, see `ModelReply`; `source` names the `provider/model` that alone may see them again.
    """

    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    said: str = ""
    items: tuple[str, ...] = ()
    source: str = ""

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold; the items are sealed and of use to nobody else."""
        return {"calls": self.calls, "results": self.results} | ({"said": self.said} if self.said else {})


@frozen
class ModelReply:
    """A usable reply of a provider: text, or calls. Tokens are None where the provider does not count.

    `items` are what the provider wants back with the results, each as JSON text (ENV-23); `source` is the
    `provider/model` that made them.
    """

    text: str | None
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    request_id: str | None = None
    items: tuple[str, ...] = ()
    source: str = ""

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold; the whole answer stands with its attempt."""
        return {"calls": self.calls} if self.calls else {}


def _runs(numbers: list[int]) -> list[list[int]]:
    """Ascending numbers as [first, last] runs: a long history in a few bytes."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs
