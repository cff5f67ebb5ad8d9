"""The real client library against a scripted server, over loopback."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable

import pytest

from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.ports import ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.machine.turn import Exchange, HistoryEntry, ModelReply, ToolCall, ToolResult
from phasewalk.phases.envelope import schema
from phasewalk.phases.providers.openai_chat import OpenAIChatProvider
from phasewalk.phases.providers.testing import (
    ScriptedModelServer,
    completion,
    envelope,
    hang,
    raw,
    refusal,
    reset,
    reset_mid_body,
    slow,
    status,
    tool_calls,
)
from phasewalk.phases.providers.testing_steps import Reply, Step

KEY = "sk-test-0123456789abcdef"
TOOL = ToolSchema(
    "notes_add",
    "Keep a note.",
    '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}',
)
Connect = Callable[..., OpenAIChatProvider]


@pytest.fixture
async def connect(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Connect]:
    """Makes providers for a server, and closes them in the end."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made: list[OpenAIChatProvider] = []

    def build(server: ScriptedModelServer, **options: float) -> OpenAIChatProvider:
        made.append(OpenAIChatProvider(server.base_url, KEY, **options))
        return made[-1]

    yield build
    for provider in made:
        await provider.aclose()


@pytest.fixture
def failing(connect: Connect, asking) -> Callable[..., object]:
    """Makes one call that is answered by a step and must fail; returns how."""

    async def fail(step: Step, **options: float) -> ProviderError:
        async with ScriptedModelServer([step]) as server:
            with pytest.raises(ProviderError) as caught:
                await connect(server, **options).complete(asking())
            assert len(server.requests) == 1
        return caught.value

    return fail


@pytest.mark.spec("ENV-16", "ENV-18")
async def test_a_good_answer_comes_back_with_its_tokens_its_id_and_its_whole_body(connect, asking):
    step = envelope("Hello.")
    async with ScriptedModelServer([step]) as server:
        reply, body = await connect(server).complete(asking())
    assert reply.text == json.loads(body)["choices"][0]["message"]["content"]
    assert json.loads(reply.text)["answer"] == "Hello."
    assert (reply.calls, reply.finish_reason, reply.input_tokens, reply.output_tokens, reply.request_id) == (
        (),
        "stop",
        11,
        7,
        "req-1",
    )
    assert body == step.body.decode()


@pytest.mark.spec("ENV-19", "ENV-20", "ENV-21")
async def test_what_goes_out_is_byte_for_byte_what_the_log_is_told(connect, asking):
    call = ToolCall("call-1", "p1", "notes_add", '{"text": "ü 👍"}')
    request = asking(
        user='{"text":"hé 👋 \\u0000"}',
        history=(HistoryEntry("user", "hi", "Mia"), HistoryEntry("tool", "done", unit="u", call=call)),
        exchanges=(Exchange((call,), (ToolResult(call, "ok", "kept"),)),),
        tools=(TOOL,),
        effort="low",
    )
    async with ScriptedModelServer([envelope("x")], repeat_last=True) as server:
        provider = connect(server)
        await provider.complete(request)
        await provider.complete(asking())
    assert server.requests[0].raw == provider.request_text(request).encode()
    assert server.requests[1].raw == provider.request_text(asking()).encode()
    assert server.requests[0].json["reasoning_effort"] == "low"
    assert "reasoning_effort" not in server.requests[1].json
    assert [sent.json["response_format"] for sent in server.requests] == [
        {"type": "json_schema", "json_schema": schema()}
    ] * 2


@pytest.mark.spec("FB-21")
async def test_the_key_travels_in_a_header_and_nowhere_else(connect, asking):
    async with ScriptedModelServer([envelope("x")]) as server:
        provider = connect(server)
        await provider.complete(asking())
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in provider.request_text(asking())


@pytest.mark.spec("ENV-12")
@pytest.mark.parametrize("code", [408, 409, 429, 500, 503])
async def test_the_library_retries_nothing(failing, code: int):
    assert (await failing(status(code))).http_status == code


async def test_an_address_in_the_environment_is_not_used(connect, asking, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    async with ScriptedModelServer([envelope("x")]) as server:
        await connect(server).complete(asking())
        assert len(server.requests) == 1


MESSAGE = {"role": "assistant", "content": None}
BODIES = {
    "an empty list of choices": (
        raw(200, '{"choices": []}'),
        Reason.NO_CHOICES,
        "choices is an empty list, one was due",
    ),
    "no choices": (raw(200, "{}"), Reason.NO_CHOICES, "choices is missing in the answer, one was due"),
    "null choices": (raw(200, '{"choices": null}'), Reason.NO_CHOICES, "choices is null in the answer, one was due"),
    "a null message": (completion(None), Reason.MALFORMED_RESPONSE, "the first choice has no message but null"),
    "a null content": (
        completion(MESSAGE),
        Reason.EMPTY_ANSWER,
        "the content of the message is null, with no tool calls",
    ),
    "a blank content": (
        completion({"role": "assistant", "content": " \n"}),
        Reason.EMPTY_ANSWER,
        "the content of the message is blank, with no tool calls",
    ),
    "an error object": (
        raw(200, '{"error": {"message": "overloaded", "code": "busy"}}'),
        Reason.MALFORMED_RESPONSE,
        "an error came with status 200 in place of choices: overloaded, code busy",
    ),
    "a page": (
        raw(200, "<!doctype html><p>sign in</p>", content_type="text/html"),
        Reason.MALFORMED_RESPONSE,
        "a page of markup came with status 200, JSON was due",
    ),
    "a page that calls itself JSON": (
        raw(200, "<html></html>"),
        Reason.MALFORMED_RESPONSE,
        "a page of markup came with status 200, JSON was due",
    ),
    "an empty body": (raw(200, ""), Reason.EMPTY_ANSWER, "the body of the answer is empty, JSON was due"),
    "cut JSON": (
        raw(200, '{"id": "x", "choices": [{"mess'),
        Reason.MALFORMED_RESPONSE,
        "the body of the answer is no JSON from character 25 of 30 on",
    ),
    "no JSON at all": (
        raw(200, "ok", content_type="text/plain"),
        Reason.MALFORMED_RESPONSE,
        "the body of the answer is no JSON from character 0 of 2 on",
    ),
    "a list": (raw(200, "[1]"), Reason.MALFORMED_RESPONSE, "the body of the answer is a list, an object was due"),
    "a null choice": (
        raw(200, '{"choices": [null]}'),
        Reason.MALFORMED_RESPONSE,
        "choices holds null where an object was due",
    ),
    "choices that are no list": (
        raw(200, '{"choices": {"a": 1}}'),
        Reason.MALFORMED_RESPONSE,
        "choices holds an object where an object was due",
    ),
    "a content of parts": (
        completion({"role": "assistant", "content": [{"type": "text", "text": "x"}]}),
        Reason.MALFORMED_RESPONSE,
        "the content of the message is a list, a text was due",
    ),
    "a call without a function": (
        completion({"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function"}]}),
        Reason.MALFORMED_RESPONSE,
        "a tool call names no function",
    ),
    "calls that are no list": (
        completion({"role": "assistant", "content": None, "tool_calls": {"id": "a"}}),
        Reason.MALFORMED_RESPONSE,
        "tool_calls is an object, a list was due",
    ),
}


@pytest.mark.spec("FB-16", "FB-13")
@pytest.mark.parametrize(("step", "reason", "said"), BODIES.values(), ids=BODIES.keys())
async def test_a_body_that_is_no_answer_is_a_typed_failure_that_says_what_is_missing(
    failing, step: Reply, reason: Reason, said: str
):
    """Case 7."""
    fault = await failing(step)
    assert (fault.kind, fault.reason, fault.http_status) == (FailureKind.UNUSABLE, reason, 200)
    assert fault.message == f"main/m-1: {said}"
    assert fault.response == step.body.decode()
    assert fault.request_id == "req-1"


@pytest.mark.spec("FB-16")
def test_the_seven_bodies_of_the_field_are_seven_messages():
    """Case 7."""
    seven = [
        "an empty list of choices", "no choices", "a null message", "a null content", "an error object", "a page",
        "an empty body",
    ]  # fmt: skip
    assert len({BODIES[name][2] for name in seven}) == 7


@pytest.mark.spec("ENV-18")
async def test_a_refusal_is_a_failed_attempt(failing):
    fault = await failing(refusal("I would rather not."))
    assert (fault.kind, fault.reason) == (FailureKind.UNUSABLE, Reason.REFUSED_BY_MODEL)
    assert fault.message == "main/m-1: the model refused to answer"
    assert "I would rather not." in fault.response


@pytest.mark.spec("ENV-18")
@pytest.mark.parametrize(
    "step",
    [
        envelope("Hello.", finish_reason="length"),
        completion(MESSAGE, "length"),
        completion(None, "length"),
        completion({"role": "assistant", "content": None, "refusal": "no"}, "length"),
    ],
    ids=["a valid envelope", "no content", "no message", "a refusal"],
)
async def test_the_finish_reason_length_is_looked_at_before_anything_else(failing, step: Reply):
    fault = await failing(step)
    assert (fault.kind, fault.reason, fault.finish_reason) == (FailureKind.UNUSABLE, Reason.TRUNCATED, "length")


@pytest.mark.spec("ENV-29")
@pytest.mark.parametrize(
    "step",
    [
        envelope("Hello.", finish_reason="content_filter"),
        completion(MESSAGE, "content_filter"),
        status(400, error_code="content_filter"),
        status(400, error_code="content_policy_violation"),
        raw(400, '{"error": {"code": "bad", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}'),
        raw(200, '{"error": {"message": "blocked", "code": "content_filter"}}'),
    ],
    ids=["finish reason", "without content", "code", "other code", "inner code", "with status 200"],
)
async def test_a_content_filter_is_a_safety_block(failing, step: Reply):
    fault = await failing(step)
    assert (fault.kind, fault.reason) == (FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK)


@pytest.mark.spec("ENV-30", "FB-13")
@pytest.mark.parametrize(
    "step",
    [
        status(400, error_code="context_length_exceeded"),
        status(400, message="This model's maximum context length is 8192 tokens."),
        status(400, message="the request exceeds the available context size"),
        status(400, message="Requested tokens exceed context window of 2048"),
        status(500, message="input is larger than n_ctx"),
        raw(400, '{"error": {"code": 400, "message": "too long", "type": "exceed_context_size_error"}}'),
        raw(400, '{"object": "error", "message": "maximum context length is 4096", "code": 400}'),
        raw(400, '{"error": "context_length_exceeded"}'),
        raw(502, '{"error": {"message": "upstream", "cause": {"error": {"code": "context_length_exceeded"}}}}'),
        raw(200, '{"error": {"message": "x", "code": "context_length_exceeded"}}'),
    ],
    ids=["code", "length", "size", "window", "n_ctx", "type", "flat", "text", "nested", "with status 200"],
)
async def test_a_prompt_that_is_too_long_is_recognised_however_it_is_said(failing, step: Reply):
    fault = await failing(step)
    assert (fault.kind, fault.reason) == (FailureKind.CONTEXT_LIMIT, Reason.CONTEXT_LIMIT)


STATUSES = [
    (429, None, FailureKind.RATE_LIMITED, Reason.HTTP_429),
    (429, "rate_limit_exceeded", FailureKind.RATE_LIMITED, Reason.HTTP_429),
    (429, "insufficient_quota", FailureKind.PERMANENT, Reason.HTTP_429),
    (408, None, FailureKind.TRANSIENT, Reason.HTTP_4XX),
    (409, None, FailureKind.TRANSIENT, Reason.HTTP_4XX),
    (500, None, FailureKind.TRANSIENT, Reason.HTTP_5XX),
    (503, None, FailureKind.TRANSIENT, Reason.HTTP_5XX),
    (529, None, FailureKind.TRANSIENT, Reason.HTTP_5XX),
    (400, "invalid_request", FailureKind.PERMANENT, Reason.HTTP_4XX),
    (401, "invalid_api_key", FailureKind.PERMANENT, Reason.HTTP_4XX),
    (403, None, FailureKind.PERMANENT, Reason.HTTP_4XX),
    (404, "model_not_found", FailureKind.PERMANENT, Reason.HTTP_4XX),
    (422, None, FailureKind.PERMANENT, Reason.HTTP_4XX),
    (304, None, FailureKind.UNUSABLE, Reason.MALFORMED_RESPONSE),
]


@pytest.mark.spec("FB-13")
@pytest.mark.parametrize(("code", "error_code", "kind", "reason"), STATUSES)
async def test_each_status_is_a_row_of_what_a_failure_allows(failing, code, error_code, kind, reason):
    step = raw(304, "") if code == 304 else status(code, error_code=error_code, message="not today")
    fault = await failing(step)
    assert (fault.kind, fault.reason, fault.http_status, fault.request_id) == (kind, reason, code, "req-1")
    assert fault.message.startswith(f"main/m-1: status {code}: ")


@pytest.mark.spec("FB-13", "FB-16")
async def test_the_message_of_a_status_holds_what_the_provider_said_its_code_and_parameter(failing):
    body = '{"error": {"message": "not with tools", "code": "unsupported", "param": "reasoning_effort"}}'
    fault = await failing(raw(400, body))
    assert fault.message == "main/m-1: status 400: not with tools, code unsupported, parameter reasoning_effort"
    assert fault.response == body


@pytest.mark.spec("FB-16")
async def test_an_error_status_with_a_page_is_judged_by_its_status(failing):
    fault = await failing(raw(502, "<h1>context window</h1>", content_type="text/html"))
    assert (fault.kind, fault.reason) == (FailureKind.TRANSIENT, Reason.HTTP_5XX)
    assert fault.message == "main/m-1: status 502: no message"
    assert fault.response == "<h1>context window</h1>"


@pytest.mark.spec("FB-13")
async def test_a_rate_limit_that_speaks_of_context_is_a_rate_limit(failing):
    fault = await failing(status(429, message="the context window of your tokens per minute is used up"))
    assert fault.kind is FailureKind.RATE_LIMITED


@pytest.mark.spec("ENV-12")
@pytest.mark.parametrize(
    ("code", "headers", "seconds"),
    [
        (429, {"retry-after": "2"}, 2.0),
        (429, {"Retry-After-Ms": "300", "Retry-After": "9"}, 0.3),
        (503, {"retry-after": "1.5"}, 1.5),
        (429, {"retry-after": "soon"}, None),
        (400, {"retry-after": "2"}, None),
        (409, {"retry-after": "2"}, None),
    ],
)
async def test_retry_after_is_read_where_waiting_helps(failing, code, headers, seconds):
    """Case 8."""
    assert (await failing(status(code, headers))).retry_after == seconds


@pytest.mark.spec("ENV-12")
async def test_a_date_is_compared_with_the_clock_that_was_handed_in(asking, connect):
    from phasewalk.machine.testing import ManualClock

    clock = ManualClock(wall_us=1_790_000_000_000_000)
    limited = status(429, {"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT"})
    async with ScriptedModelServer([limited]) as server:
        with pytest.raises(ProviderError) as caught:
            await connect(server, clock=clock).complete(asking())
    assert caught.value.retry_after == 30.0


@pytest.mark.spec("FB-13", "TURN-05")
async def test_a_server_that_never_answers_is_timed_out(failing):
    fault = await failing(hang(), read_timeout=0.05)
    assert (fault.kind, fault.reason) == (FailureKind.TRANSIENT, Reason.TIMED_OUT)
    assert fault.message == "main/m-1: no data came within the read time-out"
    assert fault.http_status is None


@pytest.mark.spec("FB-13")
async def test_a_body_that_stops_coming_is_timed_out(failing):
    fault = await failing(slow(per_byte=60.0), read_timeout=0.05)
    assert fault.reason is Reason.TIMED_OUT


@pytest.mark.spec("FB-13")
@pytest.mark.parametrize("step", [reset(), reset_mid_body()], ids=["before the answer", "in the body"])
async def test_a_connection_that_is_lost_is_a_failed_connection(failing, step: Step):
    fault = await failing(step)
    assert (fault.kind, fault.reason, fault.http_status) == (FailureKind.TRANSIENT, Reason.CONNECTION_FAILED, None)
    assert fault.message.startswith("main/m-1: the connection failed, APIConnectionError")


@pytest.mark.spec("FB-13")
async def test_nobody_listening_is_a_failed_connection(connect, asking):
    async with ScriptedModelServer([]) as server:
        pass
    with pytest.raises(ProviderError) as caught:
        await connect(server).complete(asking())
    assert (caught.value.kind, caught.value.reason) == (FailureKind.TRANSIENT, Reason.CONNECTION_FAILED)


@pytest.mark.spec("ENV-34", "TURN-08")
async def test_a_total_limit_ends_a_call_whose_body_drips(connect, asking):
    async with ScriptedModelServer([slow(per_byte=0.02)]) as server:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(connect(server, read_timeout=5.0).complete(asking()), 0.3)


@pytest.mark.spec("CON-21", "ENV-18")
async def test_tool_calls_come_back_as_the_model_sent_them(connect, asking):
    calls = [("a", "notes_add", {"text": "x"}), ("a", "notes_add", '{"text": '), ("", "shell.run", "")]
    async with ScriptedModelServer([tool_calls(calls, said="One moment.")]) as server:
        reply, _ = await connect(server).complete(asking(tools=(TOOL,)))
    assert reply == ModelReply(
        text="One moment.",
        calls=(
            ToolCall("a", "a", "notes_add", '{"text": "x"}'),
            ToolCall("a", "a", "notes_add", '{"text": '),
            ToolCall("", "", "shell.run", ""),
        ),
        finish_reason="tool_calls",
        input_tokens=11,
        output_tokens=7,
        request_id="req-1",
    )


@pytest.mark.spec("CON-21")
async def test_arguments_that_a_server_sends_as_an_object_become_their_json(connect, asking):
    listed = [{"function": {"name": "notes_add", "arguments": {"text": "x"}}}, {"function": {"name": "notes_list"}}]
    step = completion({"role": "assistant", "content": None, "tool_calls": listed}, "tool_calls")
    async with ScriptedModelServer([step]) as server:
        reply, _ = await connect(server).complete(asking(tools=(TOOL,)))
    assert [(call.provider_id, call.arguments) for call in reply.calls] == [("", '{"text":"x"}'), ("", "{}")]


@pytest.mark.spec("ENV-18")
@pytest.mark.parametrize("finish", ["stop", "eos", "", None])
async def test_an_unknown_finish_reason_fails_nothing(connect, asking, finish):
    async with ScriptedModelServer([completion({"content": "text"}, finish)]) as server:
        reply, _ = await connect(server).complete(asking())
    assert (reply.text, reply.finish_reason) == ("text", finish)


@pytest.mark.spec("ENV-18")
async def test_an_answer_without_usage_and_with_a_strange_type_is_an_answer(connect, asking):
    body = '{"choices": [{"message": {"content": "text ü"}}], "usage": {"prompt_tokens": "many"}, "error": null}'
    async with ScriptedModelServer([raw(200, body, content_type="text/plain; charset=latin-1")]) as server:
        reply, kept = await connect(server).complete(asking())
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("text ü", None, None)
    assert kept == body


@pytest.mark.spec("FB-21")
async def test_a_key_that_a_proxy_echoes_does_not_enter_the_log(connect, asking):
    async with ScriptedModelServer(lambda request: envelope("x", staff=request.headers["authorization"])) as server:
        _, kept = await connect(server).complete(asking())
    assert KEY not in kept
    assert "Bearer [redacted]" in kept


async def test_first_calls_at_once_open_one_client_and_after_closing_a_call_opens_another(connect, asking, monkeypatch):
    opened: list[object] = []
    async with ScriptedModelServer([envelope("x")], repeat_last=True) as server:
        provider = connect(server)
        really_open = provider._open
        monkeypatch.setattr(provider, "_open", lambda: opened.append(really_open()) or opened[-1])
        await asyncio.gather(*(provider.complete(asking()) for _ in range(5)))
        assert len(opened) == 1
        await provider.aclose()
        await provider.aclose()
        await provider.complete(asking())
        assert len(opened) == 2
        assert len(server.requests) == 6


@pytest.mark.parametrize("address", ["", "api.example.org/v1", "file:///v1"])
def test_an_address_that_cannot_work_is_refused_at_once(address: str):
    with pytest.raises(ConfigurationError, match="base-url is "):
        OpenAIChatProvider(address, KEY)


@pytest.mark.parametrize("key", ["", "  ", "sk-a b", "sk-a\n", "schlüssel"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_at_once_and_not_shown(key: str):
    with pytest.raises(ConfigurationError, match=r"the key for http://127\.0\.0\.1/v1 is empty or holds"):
        OpenAIChatProvider("http://127.0.0.1/v1", key)


@pytest.mark.spec("BAR-30")
def test_the_library_is_not_imported_before_the_first_call():
    code = (
        "import sys\n"
        "from phasewalk.phases.providers.openai_chat import OpenAIChatProvider\n"
        "OpenAIChatProvider('http://127.0.0.1/v1', 'key')\n"
        "sys.exit('openai' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
