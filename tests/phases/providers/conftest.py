"""Requests to models, and the real client on a scripted server."""

from collections.abc import AsyncIterator, Callable

import pytest

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.ports import ModelRequest
from phasewalk.machine.turn import Exchange, HistoryEntry, Prompt

Asking = Callable[..., ModelRequest]


@pytest.fixture
def asking() -> Asking:
    """Builds a request to `main/m-1`; every part can be given."""

    def build(
        *,
        persona: str = "You are helper.",
        context: str = "It is Monday.",
        user: str = '{"text":"hi"}',
        history: tuple[HistoryEntry, ...] = (),
        exchanges: tuple[Exchange, ...] = (),
        tools: tuple[ToolSchema, ...] = (),
        effort: str = "none",
        api: str = "chat",
        capabilities: tuple[str, ...] = ("tools", "vision", "json_schema"),
        images: tuple[str, ...] = (),
        structured: bool = True,
        reminder: str = "",
    ) -> ModelRequest:
        candidate = Candidate("main", api, "m-1", capabilities=capabilities, reasoning_effort=effort)
        prompt = Prompt(persona, context, history, user, "prefix", images=images, structured=structured)
        return ModelRequest(candidate, "m-1", prompt, exchanges, tools, turn_id="turn-1", reminder=reminder)

    return build
