import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from phasewalk.phases.envelope import parse_envelope
from phasewalk.phases.providers.testing import (
    Recorded,
    ScriptedModelServer,
    envelope,
    hang,
    raw,
    reset,
    reset_mid_body,
    slow,
    status,
)
from phasewalk.phases.providers.testing_steps import STEPS, Reply, Slow, Step, step_of

REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\n\r\n"


async def sent(base_url: str, text: bytes) -> bytes:
    """Everything that comes back for these bytes, up to the end of the connection."""
    port = int(base_url.rpartition(":")[2].removesuffix("/v1"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(text)
        return await reader.read()
    finally:
        writer.close()


async def asked(server: ScriptedModelServer, body: str = "{}", path: str = "/v1/chat/completions") -> tuple[int, str]:
    """Status and body of the answer to a request."""
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nX-Mark: one\r\ncontent-length: {len(body.encode())}\r\n\r\n"
    answer = (await sent(server.base_url, (head + body).encode())).decode()
    first, _, rest = answer.partition("\r\n")
    return int(first.split(" ")[1]), rest.partition("\r\n\r\n")[2]


async def test_the_steps_are_answered_in_order_and_after_them_comes_an_error_that_says_so():
    async with ScriptedModelServer([raw(200, "one"), raw(418, "two")]) as server:
        answers = [await asked(server) for _ in range(3)]
    assert answers[:2] == [(200, "one"), (418, "two")]
    assert (answers[2][0], json.loads(answers[2][1])["error"]["code"]) == (500, "script_ended")
    assert "after 2 steps" in answers[2][1]


async def test_the_last_step_repeats_for_ever_when_asked_to():
    async with ScriptedModelServer([raw(200, "one"), raw(200, "two")], repeat_last=True) as server:
        assert [(await asked(server))[1] for _ in range(4)] == ["one", "two", "two", "two"]


async def test_a_function_of_the_request_is_a_script():
    async with ScriptedModelServer(lambda request: raw(200, request.json["say"])) as server:
        assert await asked(server, '{"say": "hello"}') == (200, "hello")


async def test_each_request_is_recorded_as_it_came():
    async with ScriptedModelServer([raw(200, "")]) as server:
        await asked(server, '{"a": "ü"}')
    assert server.requests == [
        Recorded(
            "POST",
            "/v1/chat/completions",
            {"host": "x", "x-mark": "one", "content-length": "11"},
            '{"a": "ü"}'.encode(),
        )
    ]
    assert server.requests[0].json == {"a": "ü"}


async def test_another_path_is_refused_and_uses_no_step():
    async with ScriptedModelServer([raw(200, "one")]) as server:
        code, body = await asked(server, path="/v1/embeddings")
        assert code == 404
        assert "POST /v1/embeddings is not served" in body
        assert server.requests == []
        assert await asked(server) == (200, "one")


async def test_what_is_no_request_is_hung_up_on_and_the_server_serves_on():
    async with ScriptedModelServer([raw(200, "one")]) as server:
        assert await sent(server.base_url, b"hello\r\n\r\n") == b""
        assert await asked(server) == (200, "one")


@pytest.mark.parametrize("step", [hang(), slow(first_byte=3600.0), slow(per_byte=3600.0)])
async def test_the_server_can_be_closed_while_it_owes_an_answer(step):
    arrived = asyncio.Event()

    def script(_: Recorded) -> Step:
        arrived.set()
        return step

    async with ScriptedModelServer(script) as server:
        waiting = asyncio.ensure_future(sent(server.base_url, REQUEST))
        await arrived.wait()
    assert not (await waiting).endswith(b"}")


async def test_a_reset_sends_nothing_and_one_in_the_body_breaks_off():
    async with ScriptedModelServer([reset(), reset_mid_body()]) as server:
        with pytest.raises(ConnectionResetError):
            await asked(server)
        with pytest.raises(ConnectionResetError):
            await asked(server)


async def test_a_slow_answer_is_whole_in_the_end():
    async with ScriptedModelServer([slow(raw(200, "drop by drop"), first_byte=0.001)]) as server:
        assert await asked(server) == (200, "drop by drop")


async def test_headers_and_type_go_out_as_given():
    async with ScriptedModelServer([raw(429, "x", {"retry-after": "2"}, "text/html")]) as server:
        answer = await sent(server.base_url, REQUEST)
    assert answer == (
        b"HTTP/1.1 429 Scripted\r\ncontent-type: text/html\r\ncontent-length: 1\r\nx-request-id: req-1\r\n"
        b"connection: close\r\nretry-after: 2\r\n\r\nx"
    )


def content_of(step: Reply) -> str:
    return json.loads(step.body)["choices"][0]["message"]["content"]


def test_the_envelope_is_a_valid_one_and_its_fields_can_be_replaced():
    read = parse_envelope(content_of(envelope("Hello.", staff="Look.", answer_needed=False)))
    assert (read.answer, read.staff, read.answer_needed) == ("Hello.", "Look.", False)
    assert content_of(envelope(text="not one")) == "not one"


def test_a_status_has_the_error_body_that_providers_send():
    assert json.loads(status(404, message="no such model", error_code="model_not_found").body) == {
        "error": {
            "message": "no such model",
            "type": "scripted_error",
            "param": None,
            "code": "model_not_found",
        }
    }


ARGUMENTS = {
    "envelope": {"answer": "hi"},
    "completion": {"message": {"content": "hi"}},
    "tool_calls": {"calls": [["a", "notes_add", {"text": "x"}]]},
    "refusal": {"text": "no"},
    "responses": {"output": []},
    "raw": {"status": 200, "body": "{}"},
    "status": {"code": 503},
    "slow": {"reply": {"step": "envelope", "answer": "hi"}, "per_byte": 0.5},
}


@pytest.mark.parametrize("name", STEPS)
def test_every_step_can_be_described_in_a_file(name: str):
    given = ARGUMENTS.get(name, {})
    made = step_of({"step": name, **given})
    expected = {**given, "reply": envelope("hi")} if "reply" in given else given
    assert made == STEPS[name](**expected)


def test_a_slow_step_of_a_file_wraps_the_step_in_it():
    assert step_of({"step": "slow", **ARGUMENTS["slow"]}) == Slow(envelope("hi"), 0.0, 0.5)


async def test_it_serves_from_a_process_of_its_own_and_prints_its_address_first(tmp_path: Path):
    script = tmp_path / "steps.json"
    script.write_text(json.dumps([{"step": "raw", "status": 200, "body": "one"}]), "utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "phasewalk.phases.providers.testing", "--script", str(script), "--repeat-last"),
        stdout=subprocess.PIPE,
    )
    try:
        line = (await process.stdout.readline()).decode()
        answers = [await sent(line.strip(), REQUEST) for _ in range(2)]
    finally:
        process.terminate()
        await process.wait()
    assert line.startswith("http://127.0.0.1:")
    assert [answer.endswith(b"\r\n\r\none") for answer in answers] == [True, True]
