"""The real client library against a scripted server, over loopback: what holds for both APIs for text."""

import asyncio
import subprocess
import sys

import pytest

from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.exchange import Exchange, HistoryEntry, ToolCall, ToolResult
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.provider import ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.openai_client import OpenAIProvider
from phasewalk.phases.providers.testing import (
    ScriptedModelServer,
    completion,
    envelope,
    hang,
    raw,
    reset,
    reset_mid_body,
    slow,
    status,
)
from phasewalk.phases.providers.testing_steps import Reply, Step

TOOL = ToolSchema(
    "notes_add",
    "Keep a note.",
    '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}',
)


@pytest.fixture(params=["chat", "responses"])
def api(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.spec("ENV-20", "ENV-22")
async def test_what_goes_out_is_byte_for_byte_what_the_log_is_told(connect, asking, api):
    call = ToolCall("call-1", "p1", "notes_add", '{"text": "ü 👍"}')
    request = asking(
        api=api,
        user='{"text":"hé 👋 \\u0000"}',
        history=(HistoryEntry("user", "hi", "Mia"), HistoryEntry("tool", "done", unit="u", call=call)),
        exchanges=(Exchange((call,), (ToolResult(call, "ok", "kept"),)),),
        tools=(TOOL,),
        effort="low",
        images=("https://example.org/a.png", "data:image/png;base64,AA=="),
        reminder="Answer both.",
    )
    async with ScriptedModelServer([envelope("x")], repeat_last=True) as server:
        provider = connect(server)
        await provider.complete(request)
        await provider.complete(asking(api=api))
    assert server.requests[0].raw == provider.request_text(request).encode()
    assert server.requests[1].raw == provider.request_text(asking(api=api)).encode()


@pytest.mark.spec("ENV-22")
async def test_the_api_of_the_candidate_decides_where_a_call_goes(connect, asking):
    async with ScriptedModelServer([envelope("x")], repeat_last=True) as server:
        provider = connect(server)
        replies = [(await provider.complete(asking(api=name)))[0] for name in ("chat", "responses", "chat")]
    paths = ["/v1/chat/completions", "/v1/responses", "/v1/chat/completions"]
    assert [request.path for request in server.requests] == paths
    assert len({reply.text for reply in replies}) == 1


@pytest.mark.spec("FB-21")
async def test_the_key_travels_in_a_header_and_nowhere_else(connect, asking, api, key):
    async with ScriptedModelServer([envelope("x")]) as server:
        provider = connect(server)
        await provider.complete(asking(api=api))
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert key not in provider.request_text(asking(api=api))


@pytest.mark.spec("ENV-12")
@pytest.mark.parametrize("code", [408, 409, 429, 500, 503])
async def test_the_library_retries_nothing(failing, code: int):
    assert (await failing(status(code))).http_status == code


async def test_an_address_in_the_environment_is_not_used(connect, asking, api, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    async with ScriptedModelServer([envelope("x")]) as server:
        await connect(server).complete(asking(api=api))
        assert len(server.requests) == 1


@pytest.mark.spec("ENV-29")
@pytest.mark.parametrize(
    "step",
    [
        envelope("Hello.", finish_reason="content_filter"),
        completion({"role": "assistant", "content": None}, "content_filter"),
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
async def test_a_date_is_compared_with_the_clock_that_was_handed_in(asking, connect, api):
    from phasewalk.machine.testing import ManualClock

    clock = ManualClock(wall_us=1_790_000_000_000_000)
    limited = status(429, {"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT"})
    async with ScriptedModelServer([limited]) as server:
        with pytest.raises(ProviderError) as caught:
            await connect(server, clock=clock).complete(asking(api=api))
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
async def test_nobody_listening_is_a_failed_connection(connect, asking, api):
    async with ScriptedModelServer([]) as server:
        pass
    with pytest.raises(ProviderError) as caught:
        await connect(server).complete(asking(api=api))
    assert (caught.value.kind, caught.value.reason) == (FailureKind.TRANSIENT, Reason.CONNECTION_FAILED)


@pytest.mark.spec("ENV-34", "TURN-08")
async def test_a_total_limit_ends_a_call_whose_body_drips(connect, asking, api):
    async with ScriptedModelServer([slow(per_byte=0.02)]) as server:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(connect(server, read_timeout=5.0).complete(asking(api=api)), 0.3)


@pytest.mark.spec("FB-21")
async def test_a_key_that_a_proxy_echoes_does_not_enter_the_log(connect, asking, api, key):
    async with ScriptedModelServer(lambda request: envelope("x", staff=request.headers["authorization"])) as server:
        _, kept = await connect(server).complete(asking(api=api))
    assert key not in kept
    assert "Bearer [redacted]" in kept


async def test_first_calls_at_once_open_one_client_and_after_closing_a_call_opens_another(
    connect, asking, api, monkeypatch
):
    opened: list[object] = []
    async with ScriptedModelServer([envelope("x")], repeat_last=True) as server:
        provider = connect(server)
        really_open = provider._open
        monkeypatch.setattr(provider, "_open", lambda: opened.append(really_open()) or opened[-1])
        await asyncio.gather(*(provider.complete(asking(api=api)) for _ in range(5)))
        assert len(opened) == 1
        await provider.aclose()
        await provider.aclose()
        await provider.complete(asking(api=api))
        assert len(opened) == 2
        assert len(server.requests) == 6


@pytest.mark.parametrize("address", ["", "api.example.org/v1", "file:///v1"])
def test_an_address_that_cannot_work_is_refused_at_once(address: str):
    with pytest.raises(ConfigurationError, match="base-url is "):
        OpenAIProvider(address, "sk-test")


@pytest.mark.parametrize("key", ["", "  ", "sk-a b", "sk-a\n", "schlüssel"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_at_once_and_not_shown(key: str):
    with pytest.raises(ConfigurationError, match=r"the key for http://127\.0\.0\.1/v1 is empty or holds"):
        OpenAIProvider("http://127.0.0.1/v1", key)


@pytest.mark.spec("BAR-30")
def test_the_library_is_not_imported_before_the_first_call():
    code = (
        "import sys\n"
        "from phasewalk.phases.providers.openai_client import OpenAIProvider\n"
        "OpenAIProvider('http://127.0.0.1/v1', 'key')\n"
        "sys.exit('openai' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
