"""Answers of the Responses API, read by the real client over loopback."""

import json

import pytest

from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.exchange import ModelReply, ToolCall
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.testing import (
    ScriptedModelServer,
    completion,
    envelope,
    raw,
    refusal,
    responses,
    tool_calls,
)
from phasewalk.phases.providers.testing_steps import Reply

TOOL = ToolSchema(
    "notes_add",
    "Keep a note.",
    '{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}',
)
SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", "status": "completed"}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_a",
    "name": "notes_add",
    "arguments": '{"text":"x"}',
    "status": "completed",
}


@pytest.fixture
def api() -> str:
    return "responses"


@pytest.fixture
def replying(connect, asking):
    """Makes one call that is answered by a step; returns the reply."""

    async def reply(step: Reply) -> ModelReply:
        async with ScriptedModelServer([step]) as server:
            return (await connect(server).complete(asking(api="responses", tools=(TOOL,))))[0]

    return reply


def message(*texts: str, **extra: object) -> dict[str, object]:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content} | extra


@pytest.mark.spec("ENV-22")
async def test_a_good_answer_comes_back_with_its_tokens_its_id_and_its_whole_body(connect, asking):
    step = envelope("Hello.")
    async with ScriptedModelServer([step]) as server:
        reply, body = await connect(server).complete(asking(api="responses"))
    assert json.loads(reply.text)["answer"] == "Hello."
    assert reply == ModelReply(reply.text, (), "completed", 11, 7, "req-1")
    assert body == step.response.decode()


OUTPUT_DUE = Reason.NO_CHOICES
BROKEN = Reason.MALFORMED_RESPONSE
BODIES = {
    "an empty output": (responses([]), OUTPUT_DUE, "output is an empty list, one was due"),
    "no output": (raw(200, "{}"), OUTPUT_DUE, "output is missing in the answer, one was due"),
    "a null output": (responses(None), OUTPUT_DUE, "output is null in the answer, one was due"),
    "a null item": (responses([None]), BROKEN, "output holds null where an object was due"),
    "a null content": (
        responses([message(content=None)]),
        BROKEN,
        "the content of a message is null, a list was due",
    ),
    "an error object": (
        raw(200, '{"error": {"message": "overloaded", "code": "busy"}}'),
        BROKEN,
        "an error came with status 200 in place of output: overloaded, code busy",
    ),
    "a page": (
        raw(200, "<!doctype html><p>sign in</p>", content_type="text/html"),
        BROKEN,
        "a page of markup came with status 200, JSON was due",
    ),
    "an empty body": (raw(200, ""), Reason.EMPTY_ANSWER, "the body of the answer is empty, JSON was due"),
    "cut JSON": (
        raw(200, '{"id": "x", "output": [{"type'),
        BROKEN,
        "the body of the answer is no JSON from character 24 of 29 on",
    ),
    "a list": (raw(200, "[1]"), BROKEN, "the body of the answer is a list, an object was due"),
    "an output that is no list": (responses({"a": 1}), BROKEN, "output is an object, a list was due"),
    "a content that is a text": (
        responses([message(content="Hello.")]),
        BROKEN,
        "the content of a message is a text, a list was due",
    ),
    "a null part": (
        responses([message(content=[None])]),
        BROKEN,
        "the content of a message holds null where an object was due",
    ),
    "a null text": (
        responses([message(content=[{"type": "output_text", "text": None}])]),
        BROKEN,
        "the text of a message is null, a text was due",
    ),
    "a call without a name": (
        responses([{"type": "function_call", "call_id": "a"}]),
        BROKEN,
        "a tool call names no function",
    ),
    "only reasoning": (
        responses([SEALED]),
        Reason.EMPTY_ANSWER,
        "the output holds no message, with no function call",
    ),
    "a blank text": (
        responses([message(" \n")]),
        Reason.EMPTY_ANSWER,
        "the text of the messages is blank, with no function call",
    ),
    "only commentary": (
        responses([message("Let me see.", phase="commentary")]),
        Reason.EMPTY_ANSWER,
        "the output holds commentary and no final answer, with no function call",
    ),
    "a response still at work": (
        responses([message("Hello.")], "in_progress"),
        BROKEN,
        "the status of the response is in_progress, completed was due",
    ),
    "a cancelled response": (
        responses([message("Hello.")], "cancelled"),
        BROKEN,
        "the status of the response is cancelled, completed was due",
    ),
    "a status that is no text": (
        responses([message("Hello.")], 7),
        BROKEN,
        "the status of the response is a number, completed was due",
    ),
    "a failure without a word": (responses([], "failed"), BROKEN, "the response failed: no message"),
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
        "an empty output", "no output", "a null item", "a null content", "an error object", "a page", "an empty body",
    ]  # fmt: skip
    assert len({BODIES[name][2] for name in seven}) == 7


@pytest.mark.spec("ENV-24", "ENV-18")
@pytest.mark.parametrize(
    "step",
    [
        refusal("I would rather not."),
        responses([SEALED, message(content=[{"type": "refusal", "refusal": "no"}])]),
        responses([message("Well,", content=[{"type": "output_text", "text": "{}"}, {"type": "refusal"}])]),
        responses([message("Hello."), message(content=[{"type": "refusal", "refusal": "no"}], phase="final_answer")]),
        responses([CALL, message(content=[{"type": "refusal", "refusal": "no"}])]),
    ],
    ids=["alone", "after reasoning", "beside text", "after another message", "beside a call"],
)
async def test_a_refusal_is_a_failed_attempt(failing, step: Reply):
    fault = await failing(step)
    assert (fault.kind, fault.reason) == (FailureKind.UNUSABLE, Reason.REFUSED_BY_MODEL)
    assert fault.message == "main/m-1: the model refused to answer"


@pytest.mark.spec("ENV-18")
@pytest.mark.parametrize(
    "step",
    [
        envelope("Hello.", finish_reason="length"),
        completion(None, "length"),
        completion({"role": "assistant", "content": None, "refusal": "no"}, "length"),
        responses([CALL], "incomplete", incomplete_details={"reason": "max_output_tokens"}),
        responses(None, "incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ],
    ids=["a valid envelope", "no output", "a refusal", "a call", "null"],
)
async def test_a_response_that_was_cut_off_is_looked_at_no_further(failing, step: Reply):
    fault = await failing(step)
    expected = (FailureKind.UNUSABLE, Reason.TRUNCATED, "max_output_tokens")
    assert (fault.kind, fault.reason, fault.finish_reason) == expected
    assert fault.message == "main/m-1: the answer was cut off, max_output_tokens"


@pytest.mark.spec("ENV-18")
@pytest.mark.parametrize("details", [None, {}, {"reason": None}, "short"])
async def test_a_response_that_is_incomplete_for_no_reason_is_cut_off_too(failing, details):
    fault = await failing(responses([message("{}")], "incomplete", incomplete_details=details))
    assert (fault.reason, fault.finish_reason) == (Reason.TRUNCATED, "incomplete")


@pytest.mark.spec("ENV-29")
async def test_a_response_that_a_content_filter_stopped_is_a_safety_block(failing):
    step = responses([message("Hello.")], "incomplete", incomplete_details={"reason": "content_filter"})
    fault = await failing(step)
    expected = (FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK, "content_filter")
    assert (fault.kind, fault.reason, fault.finish_reason) == expected


LIMITED = (FailureKind.RATE_LIMITED, Reason.HTTP_429)
PASSING = (FailureKind.TRANSIENT, Reason.HTTP_5XX)
LASTING = (FailureKind.PERMANENT, Reason.HTTP_4XX)
BLOCKED = (FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK)
FULL = (FailureKind.CONTEXT_LIMIT, Reason.CONTEXT_LIMIT)
CODES = [
    ("rate_limit_exceeded", "not now", LIMITED),
    ("insufficient_quota", "nothing left", (FailureKind.PERMANENT, Reason.HTTP_429)),
    ("server_error", "oops", PASSING),
    ("vector_store_timeout", "oops", PASSING),
    ("invalid_prompt", "the prompt holds a strange token", LASTING),
    ("invalid_prompt", "flagged as potentially violating our usage policy", BLOCKED),
    ("invalid_image_url", "no", LASTING),
    ("failed_to_download_image", "no", LASTING),
    ("image_content_policy_violation", "no", BLOCKED),
    ("bio_policy", "no", BLOCKED),
    ("misalignment_policy_violation", "no", BLOCKED),
    ("content_filter", "no", BLOCKED),
    ("context_length_exceeded", "too long", FULL),
    ("server_error", "Your input exceeds the context window of this model.", FULL),
    ("something_new", "no", (FailureKind.UNUSABLE, Reason.MALFORMED_RESPONSE)),
]


@pytest.mark.spec("FB-13", "FB-16", "ENV-29", "ENV-30")
@pytest.mark.parametrize(("code", "words", "expected"), CODES)
async def test_a_failed_response_is_judged_by_its_code(failing, code: str, words: str, expected):
    fault = await failing(responses([], "failed", error={"code": code, "message": words}))
    assert (fault.kind, fault.reason) == expected
    assert (fault.message, fault.finish_reason) == (f"main/m-1: the response failed: {words}, code {code}", "failed")


@pytest.mark.spec("ENV-12")
@pytest.mark.parametrize(
    ("code", "seconds"), [("rate_limit_exceeded", 2.0), ("server_error", 2.0), ("invalid_prompt", None)]
)
async def test_a_failed_response_may_say_when_to_come_back(failing, code: str, seconds: float | None):
    body = responses([], "failed", error={"code": code, "message": "no"}).body
    assert (await failing(raw(200, body, {"retry-after": "2"}))).retry_after == seconds


@pytest.mark.spec("ENV-33")
@pytest.mark.parametrize(
    ("output", "text"),
    [
        ([message("one "), message("two")], "one two"),
        ([message("one ", "two")], "one two"),
        ([message("Let me see.", phase="commentary"), message("answer", phase="final_answer")], "answer"),
        ([message("answer", phase="final_answer"), message("And now?", phase="commentary")], "answer"),
        ([message("Let me see."), message("answer", phase="final_answer")], "answer"),
        ([message("answer", phase=None), message("!", phase="")], "answer!"),
        ([message("Let me see.", phase="something new"), message("answer", phase="final_answer")], "answer"),
        ([SEALED, {"type": "web_search_call", "text": "x"}, {"kind": "none"}, message("answer")], "answer"),
        ([message(content=[{"type": "output_text", "text": "answer"}, {"type": "new", "text": "x"}])], "answer"),
    ],
    ids=[
        "messages", "parts", "commentary first", "commentary last", "one phase", "no phases", "unknown phase",
        "unknown items", "unknown parts",
    ],
)  # fmt: skip
async def test_the_answer_is_the_text_of_the_final_messages(replying, output, text: str):
    reply = await replying(responses(output))
    assert (reply.text, reply.calls, reply.items) == (text, (), ())


@pytest.mark.spec("CON-21", "ENV-23")
async def test_calls_come_back_with_their_call_ids_and_reasoning_reduced_to_input_fields(replying):
    second = {**CALL, "id": "fc_2", "call_id": "call_b", "arguments": '{"text": ', "caller": {"type": "direct"}}
    output = [
        {**SEALED, "content": None, "extra": 1}, {"type": "web_search_call", "id": "ws_1"}, CALL,
        {**SEALED, "id": "rs_2", "summary": [{"type": "summary_text", "text": "so"}]}, second,
        message("One moment.", phase="commentary"),
    ]  # fmt: skip
    reply = await replying(responses(output))
    assert (reply.text, reply.finish_reason) == (None, "completed")
    assert reply.calls == (
        ToolCall("call_a", "call_a", "notes_add", '{"text":"x"}'),
        ToolCall("call_b", "call_b", "notes_add", '{"text": '),
    )
    assert [json.loads(item) for item in reply.items] == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
        {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "notes_add", "arguments": '{"text":"x"}'},
        {
            "type": "reasoning",
            "id": "rs_2",
            "summary": [{"type": "summary_text", "text": "so"}],
            "encrypted_content": "sealed",
        },
        {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "notes_add", "arguments": '{"text": '},
    ]


@pytest.mark.spec("ENV-23")
async def test_reasoning_that_carries_nothing_is_not_kept_nor_are_the_names_that_depend_on_it(replying):
    reply = await replying(responses([{**SEALED, "encrypted_content": None}, CALL]))
    assert [json.loads(item) for item in reply.items] == [
        {"type": "function_call", "call_id": "call_a", "name": "notes_add", "arguments": '{"text":"x"}'}
    ]


@pytest.mark.spec("ENV-23")
async def test_reasoning_in_the_open_is_kept(replying):
    thought = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "so"}]}
    reply = await replying(responses([thought, CALL]))
    assert json.loads(reply.items[0]) == {**thought, "summary": []}


@pytest.mark.spec("CON-21")
async def test_calls_of_the_plain_step_come_back_as_the_model_sent_them(replying):
    calls = [("a", "notes_add", {"text": "x"}), ("a", "notes_add", '{"text": '), ("", "shell.run", "")]
    reply = await replying(tool_calls(calls, said="One moment."))
    assert reply.text == "One moment."
    assert reply.calls == (
        ToolCall("a", "a", "notes_add", '{"text": "x"}'),
        ToolCall("a", "a", "notes_add", '{"text": '),
        ToolCall("", "", "shell.run", ""),
    )


@pytest.mark.spec("CON-21")
async def test_arguments_that_a_server_sends_as_an_object_become_their_json(replying):
    bare = {"type": "function_call", "name": "notes_list"}
    reply = await replying(responses([{**CALL, "arguments": {"text": "x"}}, bare]))
    assert [(call.provider_id, call.arguments) for call in reply.calls] == [("call_a", '{"text":"x"}'), ("", "{}")]


@pytest.mark.spec("ENV-18")
async def test_an_answer_without_status_and_usage_is_an_answer(replying):
    reply = await replying(raw(200, json.dumps({"output": [message("text")], "usage": {"input_tokens": "many"}})))
    assert (reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens) == ("text", None, None, None)
