import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.reasons import Reason
from phasewalk.phases.providers.openai_faults import Answered, Asked, retry_after, status_fault
from phasewalk.phases.providers.openai_link import fault_of

ASKED = Asked("main", "m-1", "sk-secret-0123456789")
NOW = 1_790_000_000.0  # Monday 21 September 2026, 14:13:20 UTC


@pytest.mark.spec("ENV-12")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "600"}, 600.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after-ms": "300"}, 0.3),
        ({"retry-after-ms": "300", "retry-after": "9"}, 0.3),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT"}, 30.0),
        ({"retry-after": "Mon, 21 Sep 2026 16:13:50 +0200"}, 30.0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:00 GMT"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after-ms": "-5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1_0"}, None),
        ({"retry-after": "Mon, 99 Sep 2026 14:13:00 GMT"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_provider_asks_for(headers: dict[str, str], seconds: float | None):
    """Case 8."""
    assert retry_after(headers, NOW) == seconds


@pytest.mark.spec("ENV-12")
@given(st.text(max_size=20))
def test_no_header_breaks_the_reading_of_a_wait(text: str):
    seconds = retry_after({"retry-after": text, "retry-after-ms": text}, NOW)
    assert seconds is None or seconds >= 0


@pytest.mark.spec("FB-16")
@given(st.integers(300, 599), st.text(max_size=300))
def test_any_status_and_body_is_a_failure_that_names_provider_and_model(status: int, text: str):
    fault = status_fault(ASKED, Answered(status, {}, text), NOW)
    assert fault.message.startswith("main/m-1: status ")
    assert len(fault.message) <= 200
    assert fault.http_status == status


def answer(status: int, body: str) -> httpx2.Response:
    return httpx2.Response(status, text=body, request=httpx2.Request("POST", "http://127.0.0.1/"))


@pytest.mark.spec("ENV-30")
def test_a_context_overflow_is_found_anywhere_in_the_chain_of_causes():
    body = '{"error": {"message": "x", "code": "context_length_exceeded"}}'
    response = answer(400, body)
    inner = openai.BadRequestError("x", response=response, body=None)
    middle = RuntimeError("proxy")
    middle.__cause__ = inner
    outer = openai.APIConnectionError(request=response.request)
    outer.__context__ = middle
    fault = fault_of(outer, ASKED, NOW)
    assert (fault.kind, fault.reason, fault.http_status) == (
        FailureKind.CONTEXT_LIMIT,
        Reason.CONTEXT_LIMIT,
        400,
    )
    assert fault.response == body


@pytest.mark.spec("ENV-30")
def test_a_chain_of_causes_that_bites_its_tail_ends():
    error = openai.APIConnectionError(request=httpx2.Request("POST", "http://127.0.0.1/"))
    other = RuntimeError("other")
    error.__context__, other.__context__ = other, error
    assert fault_of(error, ASKED, NOW).message == (
        "main/m-1: the connection failed, APIConnectionError: Connection error. caused by RuntimeError: other"
    )


@pytest.mark.spec("FB-21")
def test_the_key_stands_neither_in_the_message_nor_in_the_kept_answer():
    fault = status_fault(ASKED, Answered(401, {}, '{"error": {"message": "bad key sk-secret-0123456789"}}'), NOW)
    assert fault.message == "main/m-1: status 401: bad key [redacted]"
    assert fault.response == '{"error": {"message": "bad key [redacted]"}}'


@pytest.mark.spec("FB-21")
def test_a_placeholder_of_a_key_is_a_word_and_stays():
    fault = status_fault(Asked("main", "m-1", "none"), Answered(400, {}, '{"error": "none of these"}'), NOW)
    assert fault.message == "main/m-1: status 400: none of these"


@pytest.mark.spec("FB-16")
@pytest.mark.spec("LOG-10")
def test_a_long_message_is_cut_between_words_before_two_hundred_characters_and_after_the_key_was_taken_out():
    text = '{"error": "' + "x" * 160 + " sk-secret-0123456789" + "y" * 400 + '"}'
    fault = status_fault(ASKED, Answered(400, {}, text), NOW)
    assert len(fault.message) <= 200
    assert fault.message.endswith(f"{'x' * 160} …")
