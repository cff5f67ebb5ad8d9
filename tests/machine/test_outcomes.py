"""How a turn ended and why, from what is known of it; and which notice is due."""

import pytest

from phasewalk.machine.effects import Effect, EffectKind, EffectState
from phasewalk.machine.fallback import Failure, FailureKind
from phasewalk.machine.outcomes import first_reason_of, notice_due, outcome_of, reason_phase_of, stop_of
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Envelope
from phasewalk.machine.turn import Stop
from phasewalk.machine.words import Addressed, Kind, Outcome

ENVELOPE = Envelope("Hello.", answer_needed=True)


def effect(kind: EffectKind, state: EffectState = EffectState.DONE) -> Effect:
    return Effect(f"{kind}-1", kind, "key", "target", state)


ANSWER = (effect(EffectKind.ANSWER),)
NOT_SENT = (effect(EffectKind.ANSWER, EffectState.FAILED),)
DOUBTFUL = (effect(EffectKind.ANSWER, EffectState.INTENDED),)
TOOL = (effect(EffectKind.TOOL),)
LOST_TOOL = (effect(EffectKind.TOOL, EffectState.INTENDED),)
STAFF = (effect(EffectKind.STAFF_NOTE),)
NOTICE = (effect(EffectKind.NOTICE),)


def stopped(event: str, reason: Reason) -> dict:
    return {"stop": Stop(event, reason, "model_attempt")}


@pytest.mark.spec("TURN-04")
@pytest.mark.parametrize(
    ("state", "outcome", "reason"),
    [
        pytest.param({"envelope": ENVELOPE, "effects": ANSWER}, "answered", "ok", id="answer delivered"),
        pytest.param({"envelope": ENVELOPE, "effects": (*ANSWER, *STAFF)}, "answered", "ok", id="answer and note"),
        pytest.param({"envelope": ENVELOPE, "effects": STAFF}, "silent", "ok", id="staff note alone"),
        pytest.param({"envelope": ENVELOPE}, "silent", "answer_not_needed", id="nothing due"),
        pytest.param({}, "short_path", "short_path", id="archived"),
        pytest.param(stopped("admission_refused", Reason.QUEUE_FULL), "refused", "queue_full", id="refused"),
        pytest.param(
            stopped("requirement_unavailable", Reason.REQUIREMENT_UNAVAILABLE),
            "unavailable",
            "requirement_unavailable",
            id="unavailable",
        ),
        pytest.param(stopped("request_unclear", Reason.REQUEST_UNCLEAR), "unclear", "request_unclear", id="unclear"),
        pytest.param(
            stopped("attempt_failed", Reason.CANDIDATES_EXHAUSTED), "stopped", "candidates_exhausted", id="stopped"
        ),
        pytest.param(
            {**stopped("attempt_failed", Reason.CANDIDATES_EXHAUSTED), "effects": (*NOTICE, *STAFF)},
            "stopped",
            "candidates_exhausted",
            id="stopped with a notice and a staff note",
        ),
        pytest.param(
            {**stopped("attempt_failed", Reason.SIDE_EFFECTS), "effects": TOOL},
            "partial",
            "side_effects",
            id="failed after a tool",
        ),
        pytest.param(
            {**stopped("crashed", Reason.INTERNAL_ERROR), "effects": LOST_TOOL},
            "in_doubt",
            "internal_error",
            id="crashed with a tool in doubt",
        ),
        pytest.param(stopped("deadline_passed", Reason.DEADLINE_PASSED), "expired", "deadline_passed", id="expired"),
        pytest.param(
            {**stopped("deadline_passed", Reason.DEADLINE_PASSED), "effects": TOOL},
            "expired",
            "deadline_passed",
            id="expired after effects",
        ),
        pytest.param(stopped("cancelled", Reason.SHUTTING_DOWN), "cancelled", "shutting_down", id="shutdown"),
        pytest.param({"envelope": ENVELOPE, "superseded": True}, "cancelled", "superseded", id="superseded"),
        pytest.param(
            {"envelope": ENVELOPE, "effects": NOT_SENT, "delivery_reason": Reason.DELIVERY_FORBIDDEN},
            "undelivered",
            "delivery_forbidden",
            id="nothing delivered",
        ),
        pytest.param(
            {"envelope": ENVELOPE, "effects": (*ANSWER, *NOT_SENT), "delivery_reason": Reason.DELIVERY_FAILED},
            "partial",
            "delivery_failed",
            id="a later part failed",
        ),
        pytest.param(
            {"envelope": ENVELOPE, "effects": (*TOOL, *NOT_SENT), "delivery_reason": Reason.DELIVERY_FAILED},
            "partial",
            "delivery_failed",
            id="a tool ran and nothing was delivered",
        ),
        pytest.param(
            {"envelope": ENVELOPE, "effects": DOUBTFUL, "delivery_reason": Reason.DELIVERY_IN_DOUBT},
            "in_doubt",
            "delivery_in_doubt",
            id="delivery in doubt",
        ),
        pytest.param({"envelope": ENVELOPE, "effects": DOUBTFUL}, "in_doubt", "delivery_in_doubt", id="no receipt"),
        pytest.param(
            {"envelope": ENVELOPE, "effects": (*LOST_TOOL, *ANSWER)},
            "in_doubt",
            "tool_timed_out",
            id="a tool's end unknown",
        ),
        pytest.param(
            {"outcome": Outcome.COMPLETED, "reason": Reason.OK, **stopped("crashed", Reason.INTERNAL_ERROR)},
            "completed",
            "ok",
            id="settled before",
        ),
    ],
)
def test_the_outcome_and_its_reason(make, state: dict, outcome: str, reason: str):
    assert outcome_of(make.turn(**state)) == (outcome, reason)


def failed(kind: FailureKind, **changes: object) -> Failure:
    return Failure(**{"kind": kind, "reason": Reason.HTTP_5XX, "message": "m", "phase": "model_attempt", **changes})


@pytest.mark.spec("TURN-04", "FB-12")
@pytest.mark.parametrize(
    ("event", "given", "state", "reason"),
    [
        ("deadline_passed", None, {"candidates": 1}, "deadline_passed"),
        ("cancelled", Reason.SHUTTING_DOWN, {"candidates": 1}, "shutting_down"),
        ("cancelled", None, {"candidates": 1}, "cancelled"),
        ("prompt_too_large", None, {"candidates": 1}, "context_limit"),
        (
            "attempt_failed",
            Reason.HTTP_5XX,
            {"failure": failed(FailureKind.CONTEXT_LIMIT), "candidates": 2},
            "context_limit",
        ),
        (
            "attempt_failed",
            Reason.HTTP_5XX,
            {"failure": failed(FailureKind.SAFETY_BLOCK), "candidates": 2},
            "safety_block",
        ),
        (
            "attempt_failed",
            Reason.HTTP_5XX,
            {"failure": failed(FailureKind.SAFETY_BLOCK, safety_final=False), "candidates": 2},
            "candidates_exhausted",
        ),
        (
            "attempt_failed",
            Reason.HTTP_5XX,
            {"failure": failed(FailureKind.CONTEXT_LIMIT), "effects": TOOL, "candidates": 2},
            "context_limit",
        ),
        (
            "attempt_failed",
            Reason.HTTP_5XX,
            {"failure": failed(FailureKind.TRANSIENT), "effects": TOOL, "candidates": 2},
            "side_effects",
        ),
        (
            "attempt_failed",
            Reason.HTTP_5XX,
            {"failure": failed(FailureKind.TRANSIENT), "candidates": 1},
            "attempts_exhausted",
        ),
        (
            "attempt_failed",
            Reason.HTTP_5XX,
            {"failure": failed(FailureKind.TRANSIENT), "candidates": 2},
            "candidates_exhausted",
        ),
        (
            "envelope_rejected",
            Reason.ENVELOPE_INVALID,
            {"failure": failed(FailureKind.UNUSABLE), "candidates": 1},
            "attempts_exhausted",
        ),
        ("no_candidate", None, {"skipped": ("no_model", "no_model"), "candidates": 2}, "no_model"),
        (
            "no_candidate",
            None,
            {"skipped": ("no_model", "unconfigured_provider"), "candidates": 2},
            "candidates_exhausted",
        ),
        (
            "no_candidate",
            None,
            {"skipped": ("no_model",), "failure": failed(FailureKind.TRANSIENT), "candidates": 2},
            "candidates_exhausted",
        ),
        ("admission_refused", Reason.PAUSED, {"candidates": 1}, "paused"),
        ("crashed", Reason.PHASE_RESULT_INVALID, {"candidates": 1}, "phase_result_invalid"),
        ("crashed", None, {"candidates": 1}, "internal_error"),
    ],
)
def test_the_reason_of_a_stop_is_the_first_that_applies(make, event, given, state, reason):
    state = dict(state)
    contract = make.contract(candidates=tuple(make.candidate(f"p{n}") for n in range(state.pop("candidates"))))
    stop = stop_of(make.turn(contract=contract, **state), "model_attempt", event, given)
    assert stop == Stop(event, Reason(reason), "model_attempt")


def test_a_failure_before_any_contract_used_up_its_attempts(make):
    assert stop_of(make.turn(), "classify", "attempt_failed", None).reason == "attempts_exhausted"


@pytest.mark.spec("TURN-04")
def test_the_first_stop_stays(make):
    turn = make.turn(**stopped("attempt_failed", Reason.SIDE_EFFECTS))
    assert stop_of(turn, "deliver", "deadline_passed", None) is turn.stop


@pytest.mark.parametrize("event", ["admitted", "delivered", "delivery_failed", "recorded"])
def test_an_ordinary_event_is_no_stop(make, event: str):
    assert stop_of(make.turn(), "received", event, None) is None


@pytest.mark.spec("FB-20", "FB-03", "TURN-07")
@pytest.mark.parametrize(
    ("event", "reason", "effects", "notice"),
    [
        ("deadline_passed", Reason.DEADLINE_PASSED, (), "deadline"),
        ("deadline_passed", Reason.DEADLINE_PASSED, ANSWER, "deadline"),
        ("attempt_failed", Reason.CANDIDATES_EXHAUSTED, (), "all_failed"),
        ("attempt_failed", Reason.SIDE_EFFECTS, TOOL, "partial"),
        ("attempt_failed", Reason.SIDE_EFFECTS, (*TOOL, *ANSWER), None),
        ("attempt_failed", Reason.SAFETY_BLOCK, (), "safety"),
        ("prompt_too_large", Reason.CONTEXT_LIMIT, (), "context_limit"),
        ("requirement_unavailable", Reason.REQUIREMENT_UNAVAILABLE, (), "unavailable"),
        ("request_unclear", Reason.REQUEST_UNCLEAR, (), "unclear"),
        ("admission_refused", Reason.QUEUE_FULL, (), "busy"),
        ("admission_refused", Reason.SHUTTING_DOWN, (), "restart"),
        ("cancelled", Reason.SHUTTING_DOWN, (), "restart"),
        ("cancelled", Reason.SHUTTING_DOWN, ANSWER, None),
        ("cancelled", Reason.CANCELLED, (), None),
        ("crashed", Reason.INTERNAL_ERROR, (), "all_failed"),
        ("crashed", Reason.INTERNAL_ERROR, TOOL, "partial"),
    ],
)
def test_the_notice_that_is_due(make, event: str, reason: Reason, effects: tuple, notice: str | None):
    turn = make.turn(stop=Stop(event, reason, "model_attempt"), effects=effects)
    assert notice_due(turn) == notice


@pytest.mark.spec("FB-20")
@pytest.mark.parametrize(
    ("trigger", "due"),
    [
        ({"addressed": Addressed.DIRECT}, True),
        ({"addressed": Addressed.MENTION}, True),
        ({"addressed": Addressed.REPLY}, True),
        ({"addressed": None}, False),
        ({"addressed": None, "kind": Kind.SCHEDULED}, True),
        ({"addressed": None, "kind": Kind.IDLE}, False),
    ],
)
def test_a_notice_goes_only_to_who_spoke_to_the_bot_or_owns_the_job(make, trigger: dict, due: bool):
    turn = make.turn(trigger=make.trigger(**trigger), **stopped("deadline_passed", Reason.DEADLINE_PASSED))
    assert (notice_due(turn) is not None) is due


def test_a_turn_that_did_not_stop_owes_no_notice(make):
    assert notice_due(make.turn()) is None


@pytest.mark.spec("TURN-04")
def test_the_first_failure_is_kept_beside_the_phase_of_the_stop(make):
    turn = make.turn(
        first_failure=failed(FailureKind.TRANSIENT), **stopped("attempt_failed", Reason.CANDIDATES_EXHAUSTED)
    )
    assert first_reason_of(turn) == "http_5xx"
    assert reason_phase_of(turn, "record") == "model_attempt"
    assert first_reason_of(make.turn()) is None
    assert reason_phase_of(make.turn(), "record") == "record"
