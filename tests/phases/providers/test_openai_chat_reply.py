"""Answers of chat/completions, read by the real client over loopback."""

import json

import pytest

from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.exchange import ModelReply, ToolCall
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.testing import ScriptedModelServer, completion, envelope, raw, refusal, tool_calls
from phasewalk.phases.providers.testing_steps import Reply

TOOL = ToolSchema(
    "notes_add",
    "Keep a note.",
    '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}',
)


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
        "choices is an object, a list was due",
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
