"""Requests to models, and the real client on a scripted server."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.exchange import Exchange, HistoryEntry, Prompt
from phasewalk.machine.provider import ModelRequest, ProviderError
from phasewalk.phases.providers.openai_client import OpenAIProvider
from phasewalk.phases.providers.testing import ScriptedModelServer
from phasewalk.phases.providers.testing_steps import Step

Asking = Callable[..., ModelRequest]
Connect = Callable[..., OpenAIProvider]


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


@pytest.fixture
def key() -> str:
    return "sk-test-0123456789abcdef"


@pytest.fixture
async def connect(monkeypatch: pytest.MonkeyPatch, key: str) -> AsyncIterator[Connect]:
    """Makes providers for a server, and closes them in the end."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made: list[OpenAIProvider] = []

    def build(server: ScriptedModelServer, **options: float) -> OpenAIProvider:
        made.append(OpenAIProvider(server.base_url, key, **options))
        return made[-1]

    yield build
    for provider in made:
        await provider.aclose()


@pytest.fixture
def api() -> str:
    """The api that `failing` calls; a file about another one, or about both, has its own."""
    return "chat"


@pytest.fixture
def failing(connect: Connect, asking: Asking, api: str) -> Callable[..., Awaitable[ProviderError]]:
    """Makes one call that is answered by a step and must fail; returns how."""

    async def fail(step: Step, **options: float) -> ProviderError:
        async with ScriptedModelServer([step]) as server:
            with pytest.raises(ProviderError) as caught:
                await connect(server, **options).complete(asking(api=api))
            assert len(server.requests) == 1
        return caught.value

    return fail
