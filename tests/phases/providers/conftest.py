"""Requests to models, and the real client on a scripted server."""

from collections.abc import Callable

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
    ) -> ModelRequest:
        candidate = Candidate("main", "chat", "m-1", reasoning_effort=effort)
        return ModelRequest(
            candidate, "m-1", Prompt(persona, context, history, user, "prefix"), exchanges, tools, turn_id="turn-1"
        )

    return build
