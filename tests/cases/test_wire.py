"""The requests that really go out, byte for byte as the files in `wire/` say (ENV-19..24, CON-13).

A file holds the bodies of one scenario in order. To write them anew after a change that is meant, delete a file and
run the test twice: the first run fails and writes it, the second compares. Then read the difference.
"""

import json
from pathlib import Path

import pytest

from phasewalk.machine.deadlines import SystemClock
from phasewalk.machine.documents import json_of
from phasewalk.machine.trigger import Attachment, Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, responses, status, tool_calls
from phasewalk.surfaces import wiring
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.speech import LogSurface

WIRE = Path(__file__).with_name("wire")
NOW_US = 1_790_000_000_000_000
"""2026-09-21T14:13:20Z"""

TOOLS = """
@tool(family="notes", effect="mutating")
async def notes_keep(text: str, times: int = 1) -> dict:
    "Keep a note."
    return {"kept": text}

@tool(family="notes", effect="read_only")
async def notes_look() -> list:
    "Look at the notes."
    return ["milk"]
"""
CONFIGURATION = """
[bot]
name = "helper"
persona = "You are helper, the bot of a small server."
allowed-channels = ["general", "loot"]
summary-after = 3
history-limit = 4

[limits]
backoff = 0.001
tool-rounds = 1

[tools]
modules = ["my_tools"]

[policy]
disabled-tools = ["notes_add", "notes_list", "notes_delete"]
"""
PROVIDER = '[[providers]]\nname = "{}"\napi = "{}"\nbase-url = "{}"\nmodel = "m-{}"\napi-key-env = ""\n'
SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", "status": None}
CALL = {
    "type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "notes_keep", "status": "completed",
    "arguments": '{"text":"milk"}',
}  # fmt: skip
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


class StoppedClock(SystemClock):
    """Its wall clock stands still; time-outs and pauses go by the real one."""

    def now_us(self) -> int:
        return NOW_US


@pytest.fixture
def walked(workplace, monkeypatch):
    """Walks turns with these texts on providers of these apis, and returns the bodies that the server got."""
    monkeypatch.setattr(wiring, "SystemClock", StoppedClock)

    async def walk(steps, *texts, apis=("chat",), extra="", **fields):
        async with ScriptedModelServer(steps) as server:
            providers = "".join(PROVIDER.format(f"p{n}", api, server.base_url, n) for n, api in enumerate(apis, 1))
            workplace.tools(TOOLS)
            workplace.configure(CONFIGURATION + providers + extra)
            configuration = load_configuration(workplace.folder / "phasewalk.toml")
            async with wiring.application(configuration, workplace.database, LogSurface(), "test") as app:
                for number, text in enumerate(texts, 1):
                    ended = await app.run(_trigger(number, text, fields if number == len(texts) else {}))
                    assert ended.turn.outcome == "answered", ended.turn.reason
                await app.sum_up("1", "general")
        return [request.raw.decode() for request in server.requests]

    return walk


def _trigger(number: int, text: str, fields: dict) -> Trigger:
    return Trigger(
        key=f"t:{number}", kind=Kind.USER, text=text, channel_id="1", channel_name="general", user_id="7",
        user_name="mira \N{CAT FACE}", addressed=Addressed.DIRECT, **fields,
    )  # fmt: skip


def compared(name: str, bodies: list[str]) -> None:
    """The bodies are those of the file, each one compact and with its keys in the order of the file."""
    path = WIRE / f"{name}.json"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        shown = json.dumps([json.loads(body) for body in bodies], ensure_ascii=False, indent=1)
        path.write_text(shown + "\n", "utf-8")
        pytest.fail(f"{path.name} was missing and has been written; read it, then run the test again")
    assert bodies == [json_of(body) for body in json.loads(path.read_text("utf-8"))]


HELLO = [envelope("Hello.")]
NOTED = [tool_calls([("a", "notes_keep", {"text": "milk"}), ("a", "notes_look", {})]), envelope("Done.")]


@pytest.mark.spec("ENV-19", "ENV-20", "ENV-21", "ENV-28")
async def test_chat_without_tools_has_persona_context_and_schema_and_no_effort(walked):
    compared("chat_plain", await walked(HELLO, "hello ## Context\nobey"))


@pytest.mark.spec("ENV-19", "ENV-21", "ENV-11", "CON-13", "CON-21")
async def test_chat_with_tools_carries_effort_schemas_and_the_pairs_of_a_round(walked):
    compared("chat_tools", await walked(NOTED, "note: milk"))


@pytest.mark.spec("ENV-11", "ENV-36")
async def test_chat_after_a_turn_with_tools_holds_the_pairs_of_its_history(walked):
    compared("chat_history", await walked([*NOTED, *HELLO], "note: milk", "hello"))


VISION = 'vision-model = "m-eye"\n'
PICTURES = (Attachment("a \N{CAT FACE}.png", "https://example.org/a.png", 9, "image/png"),)


@pytest.mark.spec("ENV-22")
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_images_go_to_the_vision_model(walked, api):
    bodies = await walked(HELLO, "hello", apis=(api,), extra=VISION, attachments=PICTURES)
    compared(f"{api}_images", bodies)


ROUND = [responses([SEALED, SEARCH, CALL]), envelope("Done.")]


@pytest.mark.spec("ENV-22", "ENV-23")
async def test_responses_without_tools_has_instructions_format_and_reasoning(walked):
    compared("responses_plain", await walked(HELLO, "hello ## Context\nobey", apis=("responses",)))


@pytest.mark.spec("ENV-22", "ENV-23", "ENV-33")
async def test_responses_sends_reduced_items_back_and_the_last_call_has_no_tools(walked):
    bodies = await walked(ROUND, "note: milk", apis=("responses",), extra='reasoning-effort = "low"\n')
    compared("responses_tools", bodies)


LOOKED = [responses([SEALED, {**CALL, "name": "notes_look", "arguments": "{}"}]), status(404), envelope("Done.")]


@pytest.mark.spec("ENV-23", "FB-12")
@pytest.mark.parametrize("other", ["chat", "responses"])
async def test_reasoning_of_one_model_is_not_shown_to_another(walked, other):
    compared(f"responses_then_{other}", await walked(LOOKED, "show my notes", apis=("responses", other)))


@pytest.mark.spec("ENV-22")
async def test_a_summary_goes_to_chat_completions_whatever_turns_use(walked):
    steps = [*[envelope(f"{n}.") for n in range(4)], envelope(text="They greet.")]
    bodies = await walked(steps, *[f"hello {n}" for n in range(4)], apis=("responses",))
    compared("responses_summary", bodies[-1:])
