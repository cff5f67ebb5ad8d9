"""What a failure allows, row by row; and the two questions about effects."""

import pytest

from phasewalk.machine.candidates import model_for, skip_of
from phasewalk.machine.effects import (
    Effect,
    EffectKind,
    EffectState,
    delivered_to_person,
    has_side_effects,
    unresolved,
)
from phasewalk.machine.fallback import RULES, Failure, FailureKind, Progress, advanced, allowance
from phasewalk.machine.limits import Limits
from phasewalk.machine.reasons import Reason
from phasewalk.machine.words import Cause

TOOL = (Effect("e1", EffectKind.TOOL, "key", "add_note", EffectState.DONE),)
K = FailureKind


def failed(kind: FailureKind = K.TRANSIENT, **changes: object) -> Failure:
    return Failure(**{"kind": kind, "reason": Reason.HTTP_5XX, "message": "m", "phase": "model_attempt", **changes})


def allowed(make, failure, effects=(), *, names=("one", "two"), progress=None, limits=None, time_left=100.0, **one):
    candidates = tuple(make.candidate(name, **one) for name in names)
    return allowance(
        failure, effects, candidates, progress=progress or Progress(), limits=limits or Limits(), time_left=time_left
    )


def stepped(make, cause, progress, failure=None, effects=(), **one):
    return advanced(
        cause,
        progress,
        failure=failure,
        effects=effects,
        candidates=(make.candidate("one", **one), make.candidate("two")),
        limits=Limits(),
    )


@pytest.mark.spec("FB-13", "FB-04")
@pytest.mark.parametrize(
    ("kind", "effects", "expected"),
    [
        pytest.param(K.UNUSABLE, (), (True, True, False), id="unusable"),
        pytest.param(K.UNUSABLE, TOOL, (True, False, True), id="unusable after effects"),
        pytest.param(K.RATE_LIMITED, (), (True, True, False), id="429"),
        pytest.param(K.RATE_LIMITED, TOOL, (True, False, False), id="429 after effects"),
        pytest.param(K.TRANSIENT, (), (True, True, False), id="transient"),
        pytest.param(K.TRANSIENT, TOOL, (True, False, False), id="transient after effects"),
        pytest.param(K.PERMANENT, (), (False, True, False), id="permanent"),
        pytest.param(K.PERMANENT, TOOL, (False, False, False), id="permanent after effects"),
        pytest.param(K.CONTEXT_LIMIT, (), (False, False, False), id="context limit"),
        pytest.param(K.CONTEXT_LIMIT, TOOL, (False, False, False), id="context limit after effects"),
        pytest.param(K.SAFETY_BLOCK, (), (False, False, False), id="final safety block"),
        pytest.param(K.SAFETY_BLOCK, TOOL, (False, False, False), id="safety block after effects"),
        pytest.param(K.BUG, (), (False, False, False), id="bug"),
        pytest.param(K.BUG, TOOL, (False, False, False), id="bug after effects"),
    ],
)
def test_what_a_first_failure_allows(make, kind: FailureKind, effects: tuple, expected: tuple[bool, bool, bool]):
    """`expected`: may the same candidate be asked again, may the next one, are tools withheld."""
    found = allowed(make, failed(kind), effects)
    assert (found.retry_allowed, found.falls_back, found.rule.withholds_tools) == expected
    assert (found.attempts_left, found.delay) == (2, 1.0)
    assert found.after_effects is bool(effects)


def test_every_kind_of_failure_has_a_rule_before_and_after_effects():
    assert set(RULES) == {(kind, after) for kind in FailureKind for after in (False, True)}


@pytest.mark.spec("FB-02", "FB-13")
@pytest.mark.parametrize("kind", FailureKind)
@pytest.mark.parametrize("safety_final", [True, False])
def test_after_effects_no_failure_leads_to_another_candidate(make, kind: FailureKind, safety_final: bool):
    assert allowed(make, failed(kind, safety_final=safety_final), TOOL).falls_back is False


@pytest.mark.spec("FB-12", "FB-13")
def test_a_safety_block_that_the_provider_does_not_call_final_falls_back(make):
    assert allowed(make, failed(K.SAFETY_BLOCK, safety_final=False)).falls_back is True
    assert allowed(make, failed(K.SAFETY_BLOCK, safety_final=True)).falls_back is False


@pytest.mark.spec("ENV-12", "FB-13")
@pytest.mark.parametrize(
    ("failures", "jitter", "delay"),
    [(0, 0.0, 1.0), (1, 0.0, 2.0), (2, 0.0, 4.0), (4, 0.0, 16.0), (5, 0.0, 30.0), (9, 0.0, 30.0), (1, 1.0, 1.5)],
)
def test_the_backoff_doubles_up_to_its_cap_and_jitter_shortens_it_by_a_quarter_at_most(make, failures, jitter, delay):
    found = allowed(make, failed(jitter=jitter), progress=Progress(failures=failures))
    assert found.delay == delay


@pytest.mark.spec("ENV-12")
@pytest.mark.parametrize(("failures", "left"), [(0, 2), (1, 1), (2, 0), (3, 0)])
def test_three_failures_in_a_row_use_up_the_attempts(make, failures: int, left: int):
    assert allowed(make, failed(K.UNUSABLE), progress=Progress(failures=failures)).attempts_left == left


@pytest.mark.spec("ENV-12")
@pytest.mark.parametrize(("retry_after", "fits"), [(2.0, True), (99.999, True), (100.0, False), (600.0, False)])
def test_what_the_provider_asks_to_wait_is_honoured_when_it_ends_before_the_deadline(make, retry_after, fits):
    found = allowed(make, failed(K.RATE_LIMITED, retry_after=retry_after), time_left=100.0)
    assert (found.delay, found.delay_fits) == (retry_after, fits)


@pytest.mark.spec("ENV-15", "ENV-12")
def test_switching_to_the_retry_model_waits_only_our_own_backoff(make):
    failure = failed(K.RATE_LIMITED, retry_after=600.0)
    found = allowed(make, failure, retry_model="m-small")
    assert (found.to_retry_model, found.delay, found.delay_fits) == (True, 1.0, True)
    again = allowed(make, failure, retry_model="m-small", progress=Progress(on_retry_model=True, failures=1))
    assert (again.to_retry_model, again.delay) == (False, 600.0)


@pytest.mark.spec("ENV-15")
@pytest.mark.parametrize("kind", [k for k in FailureKind if k is not K.RATE_LIMITED])
def test_only_a_rate_limit_leads_to_the_retry_model(make, kind: FailureKind):
    assert allowed(make, failed(kind), retry_model="m-small").to_retry_model is False


@pytest.mark.spec("ENV-15", "FB-13")
def test_after_effects_the_same_model_is_asked_again(make):
    assert allowed(make, failed(K.RATE_LIMITED), TOOL, retry_model="m-small").to_retry_model is False


@pytest.mark.spec("FB-13")
@pytest.mark.parametrize(("used", "left", "delay"), [(0, 2, 1.0), (1, 1, 3.0), (2, 0, 3.0), (3, 0, 3.0)])
@pytest.mark.parametrize("kind", [K.RATE_LIMITED, K.TRANSIENT])
def test_after_effects_two_fixed_delays_stand_instead_of_the_attempts(make, kind, used, left, delay):
    found = allowed(make, failed(kind, retry_after=50.0), TOOL, progress=Progress(delays_used=used, failures=2))
    assert (found.attempts_left, found.delay) == (left, delay)


@pytest.mark.spec("FB-13")
def test_without_configured_delays_nothing_is_tried_again_after_effects(make):
    found = allowed(make, failed(), TOOL, limits=Limits(post_effect_delays=()))
    assert (found.attempts_left, found.delay) == (0, 0.0)


@pytest.mark.spec("FB-10")
def test_the_next_candidate_is_the_one_behind_the_present_one(make):
    assert allowed(make, failed()).next_candidate.name == "two/m-two"
    assert allowed(make, failed(), progress=Progress(candidate=1)).next_candidate is None
    assert allowed(make, failed(K.RATE_LIMITED), names=()).to_retry_model is False


@pytest.mark.spec("FB-14")
def test_the_values_for_the_log_are_the_numbers_compared(make):
    assert allowed(make, failed(jitter=0.5), time_left=12.3456).values == {
        "after_effects": False,
        "attempts_left": 2,
        "delay": 0.875,
        "time_left": 12.346,
        "next": "two/m-two",
    }
    assert allowed(make, failed(), names=("one",)).values["next"] is None


BEFORE = Progress(candidate=0, failures=1, delays_used=1, delay=9.0, calls=4, rounds=2, tools_withheld=True)


@pytest.mark.spec("FB-13", "FB-12")
@pytest.mark.parametrize(
    ("cause", "failure", "effects", "expected"),
    [
        pytest.param(
            Cause.FALLBACK,
            failed(),
            (),
            Progress(candidate=1, failures=0, delays_used=0, delay=0.0, calls=4, rounds=2, tools_withheld=False),
            id="the next candidate begins anew, rounds stay counted",
        ),
        pytest.param(
            Cause.RETRY,
            failed(),
            (),
            Progress(candidate=0, failures=2, delays_used=1, delay=2.0, calls=4, rounds=2, tools_withheld=True),
            id="a retry counts a failure and waits",
        ),
        pytest.param(
            Cause.RETRY,
            failed(),
            TOOL,
            Progress(candidate=0, failures=1, delays_used=2, delay=3.0, calls=4, rounds=2, tools_withheld=True),
            id="after effects it uses a fixed delay",
        ),
        pytest.param(
            Cause.SHRUNK,
            failed(K.CONTEXT_LIMIT),
            (),
            Progress(
                candidate=0,
                failures=1,
                delays_used=1,
                delay=0.0,
                calls=4,
                rounds=2,
                tools_withheld=True,
                shrunk=True,
                last_try=True,
            ),
            id="the smaller retry is used up",
        ),
        pytest.param(
            Cause.TOOL_RESULTS,
            None,
            (),
            Progress(candidate=0, failures=0, delays_used=0, delay=0.0, calls=4, rounds=2, tools_withheld=True),
            id="a usable reply resets the count",
        ),
        pytest.param(
            None,
            None,
            (),
            Progress(candidate=0, failures=0, delays_used=0, delay=0.0, calls=4, rounds=2, tools_withheld=True),
            id="the first call",
        ),
        pytest.param(
            Cause.RETRY,
            None,
            (),
            Progress(candidate=0, failures=0, delays_used=0, delay=0.0, calls=4, rounds=2, tools_withheld=True),
            id="a retry without a failure waits for nothing",
        ),
    ],
)
def test_the_progress_with_which_the_next_call_begins(make, cause, failure, effects, expected):
    assert stepped(make, cause, BEFORE, failure, effects) == expected


@pytest.mark.spec("FB-13")
def test_an_unusable_output_after_effects_withholds_the_tools(make):
    assert stepped(make, Cause.RETRY, Progress(), failed(K.UNUSABLE), TOOL).tools_withheld is True
    assert stepped(make, Cause.RETRY, Progress(), failed(K.UNUSABLE), ()).tools_withheld is False


@pytest.mark.spec("ENV-15")
def test_the_retry_model_stays_chosen_until_the_next_candidate(make):
    limited = failed(K.RATE_LIMITED)
    first = stepped(make, Cause.RETRY, Progress(), limited, retry_model="m-small")
    second = stepped(make, Cause.RETRY, first, failed(K.TRANSIENT), retry_model="m-small")
    third = stepped(make, Cause.FALLBACK, second, failed(K.TRANSIENT), retry_model="m-small")
    assert [p.on_retry_model for p in (first, second, third)] == [True, True, False]
    assert [p.failures for p in (first, second, third)] == [1, 2, 0]


STATES = list(EffectState)
EVEN_FAILED = {EffectKind.TOOL, EffectKind.STATE, EffectKind.SANCTION}


@pytest.mark.spec("FB-01")
@pytest.mark.parametrize("kind", EffectKind)
@pytest.mark.parametrize("state", STATES)
def test_an_effect_counts_from_its_intent_on(kind: EffectKind, state: EffectState):
    expected = state is not EffectState.FAILED or kind in EVEN_FAILED
    assert has_side_effects([Effect("e", kind, "k", "t", state)]) is expected


@pytest.mark.spec("FB-01", "FB-03")
def test_a_turn_that_did_nothing_has_no_effects_and_showed_nothing():
    assert has_side_effects([]) is False
    assert delivered_to_person([]) is False
    assert unresolved([]) == ()


@pytest.mark.spec("FB-03")
@pytest.mark.parametrize("kind", EffectKind)
@pytest.mark.parametrize("state", STATES)
def test_a_person_has_seen_what_was_delivered_to_the_person(kind: EffectKind, state: EffectState):
    seen = {EffectKind.ANSWER, EffectKind.PICTURE, EffectKind.VISIBLE_TEXT, EffectKind.NOTICE}
    expected = kind in seen and state is EffectState.DONE
    assert delivered_to_person([Effect("e", kind, "k", "t", state)]) is expected


def test_what_has_an_intent_and_no_receipt_is_unresolved():
    effects = [Effect(f"e{n}", EffectKind.TOOL, f"k{n}", "t", state) for n, state in enumerate(STATES)]
    assert [effect.state for effect in unresolved(effects)] == [EffectState.INTENDED, EffectState.IN_DOUBT]


@pytest.mark.spec("FB-11")
@pytest.mark.parametrize(
    ("changes", "reason", "values"),
    [
        ({"known": False}, "unknown_provider", {"api": "chat"}),
        ({"configured": False}, "unconfigured_provider", {"provider": "one"}),
        ({"model": ""}, "no_model", {"provider": "one"}),
        ({"capabilities": ("vision",)}, "missing_capability", {"missing": ["tools"], "has": ["vision"]}),
        ({"window": 99}, "context_limit", {"needed_tokens": 100, "window": 99}),
    ],
)
def test_a_candidate_is_skipped_for_one_reason_with_its_values(make, changes: dict, reason: str, values: dict):
    skip = skip_of(make.candidate(**changes), ("tools",), 100)
    assert (skip.reason, skip.values) == (reason, values)


@pytest.mark.spec("FB-11")
@pytest.mark.parametrize("window", [0, 100])
def test_a_candidate_that_has_everything_is_not_skipped(make, window: int):
    assert skip_of(make.candidate(window=window), ("tools", "vision"), 100) is None


@pytest.mark.spec("FB-15")
def test_a_probe_is_never_repeated(make):
    found = allowed(make, failed(), progress=Progress(probing=True))
    assert (found.retry_allowed, found.attempts_left, found.falls_back) == (True, 0, True)


@pytest.mark.spec("FB-15")
@pytest.mark.parametrize("cause", [Cause.FALLBACK, Cause.TOOL_RESULTS])
def test_a_probe_is_over_with_the_next_candidate_and_with_a_usable_reply(make, cause):
    assert not stepped(make, cause, Progress(probing=True), failed()).probing


@pytest.mark.spec("CON-27")
@pytest.mark.parametrize("effects", [(), (Effect("e", EffectKind.TOOL, "k", "t"),)], ids=["before effects", "after"])
def test_an_incomplete_answer_is_asked_for_again_at_once_with_tools_and_of_nobody_else(make, effects):
    found = allowed(make, failed(K.INCOMPLETE), effects)
    assert (found.retry_allowed, found.delay, found.rule.withholds_tools, found.falls_back) == (True, 0.0, False, False)


@pytest.mark.spec("ENV-15", "ENV-22")
@pytest.mark.parametrize(
    ("asked", "model"),
    [
        ({}, "own"),
        ({"images": True}, "vision"),
        ({"factual": True}, "factual"),
        ({"images": True, "factual": True}, "vision"),
        ({"on_retry_model": True, "images": True}, "retry"),
    ],
)
def test_which_model_of_a_candidate_is_asked(make, asked, model):
    models = {"model": "own", "retry_model": "retry", "vision_model": "vision", "factual_model": "factual"}
    plain = {"on_retry_model": False, "images": False, "factual": False}
    assert model_for(make.candidate(**models), **{**plain, **asked}) == model
    assert model_for(make.candidate(model="own"), **{**plain, **asked}) == "own"
