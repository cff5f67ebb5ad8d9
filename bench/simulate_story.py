"""What a story of the simulated month is: who speaks, what the model does, what the surface does, where it breaks off.

Owns the placeholders for all that differs from turn to turn, and the body that such a model answers with.
"""

import json
import random
from collections.abc import Callable

from attrs import frozen

from phasewalk.machine.exchange import ModelReply, ToolCall
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.ports import Settings
from phasewalk.machine.provider import ModelRequest
from phasewalk.machine.reasons import Reason
from phasewalk.machine.words import Addressed, Kind

WALL0_US = 1_600_000_500_000_000
"""When every scratch turn begins."""
MONO0 = 5000.0

WORDS, ANSWER, NAME, CHANNEL = "qqwordsqq", "qqanswerqq", "qqnameqq", "qqchannelqq"
RESPONSE, CREATED, CALL = "qqresponseqq", "qqcreatedqq", "qqcall{}qq"
CHANNEL_ID, USER_ID, MESSAGE_ID, REPLY_ID, GUILD_ID = (str(880_000_000_000_000_001 + n) for n in range(5))
NUMBER = 7_654_321
"""The number of every scratch note and task."""
ENTRY = 99_000_001
"""The first entry of the scratch history."""


@frozen
class Step:
    """What the model does at one call: an answer, tools, a failure, or nothing for ever."""

    answer: str | None = None
    needed: bool = True
    staff: str | None = None
    text: str | None = None
    tools: tuple[tuple[str, str], ...] = ()
    fault: tuple[FailureKind, Reason, str, int | None, float | None] | None = None
    seconds: float = 2.2
    hangs: bool = False


@frozen
class Story:
    """How one sort of turn goes. `cut` leaves it unfinished at its n-th model call or message (`call`, `send`)."""

    name: str
    text: str = WORDS
    addressed: Addressed | None = None
    kind: Kind = Kind.USER
    steps: tuple[Step, ...] = ()
    sending: str = "ok"
    refusal: Reason | None = None
    open_circuits: tuple[str, ...] = ()
    settings: Callable[[Settings], Settings] = lambda settings: settings
    history: bool = False
    tool_seconds: float = 0.05
    cancel: Reason | None = None
    crash: bool = False
    cut: tuple[str, int] | None = None
    summary: bool = False


REFUSALS = {
    "forbidden": ("403 Forbidden (error code: 50013): Missing Permissions", Reason.DELIVERY_FORBIDDEN),
    "gone": ("404 Not Found (error code: 10003): Unknown Channel", Reason.DELIVERY_TARGET_GONE),
    "failed": ("no connection to the gateway", Reason.DELIVERY_FAILED),
}


def reply_of(step: Step, request: ModelRequest, number: int, chance: random.Random) -> tuple[ModelReply, str]:
    """The reply and the body that such a server answers with."""
    calls = tuple(
        ToolCall("", CALL.format(f"{number}{index}"), name, arguments)
        for index, (name, arguments) in enumerate(step.tools)
    )
    text = None if calls else step.text
    if text is None and not calls:
        said = {"answer": step.answer, "answer_needed": step.needed, "channel": None, "staff": step.staff}
        text = json.dumps({**said, "picture": None, "picture_count": None, "picture_edit": False, "hack": False})
    finish = "tool_calls" if calls else "stop"
    asked, told = request.prompt.estimated_tokens + chance.randint(200, 1900), chance.randint(18, 240)
    message: dict[str, object] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    if calls:
        message["tool_calls"] = [
            {"id": c.provider_id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in calls
        ]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    body = {
        "id": f"chatcmpl-{RESPONSE}", "object": "chat.completion", "created": CREATED, "model": request.model,
        "choices": [choice],
        "usage": {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told},
        "service_tier": "default",
    }  # fmt: skip
    return ModelReply(text, calls, finish, asked, told, f"req_{RESPONSE}"), json.dumps(body).replace(
        f'"{CREATED}"', CREATED
    )
