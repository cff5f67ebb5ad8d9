"""Which failures speak against a provider, and which say nothing about it (FB-15)."""

import pytest

from phasewalk.machine.circuit import CircuitAnswer, CircuitState, counts
from phasewalk.machine.fallback import Failure, FailureKind
from phasewalk.machine.reasons import Reason

COUNTED = [
    (FailureKind.TRANSIENT, Reason.TIMED_OUT),
    (FailureKind.TRANSIENT, Reason.CONNECTION_FAILED),
    (FailureKind.TRANSIENT, Reason.HTTP_5XX),
    (FailureKind.TRANSIENT, Reason.HTTP_4XX),  # 408 and its like: the provider gave up, the request is in order
    (FailureKind.RATE_LIMITED, Reason.HTTP_429),
    (FailureKind.PERMANENT, Reason.HTTP_429),  # no quota: nothing that a retry helps, and it concerns every turn
    (FailureKind.UNUSABLE, Reason.NO_CHOICES),
    (FailureKind.UNUSABLE, Reason.MALFORMED_RESPONSE),
    (FailureKind.UNUSABLE, Reason.EMPTY_ANSWER),
    (FailureKind.UNUSABLE, Reason.TRUNCATED),
    (FailureKind.UNUSABLE, Reason.ENVELOPE_INVALID),
]
NOT_COUNTED = [
    (FailureKind.PERMANENT, Reason.HTTP_4XX),
    (FailureKind.PERMANENT, Reason.MISSING_CAPABILITY),
    (FailureKind.PERMANENT, Reason.UNCONFIGURED_PROVIDER),
    (FailureKind.PERMANENT, Reason.NO_MODEL),
    (FailureKind.UNUSABLE, Reason.REFUSED_BY_MODEL),
    (FailureKind.INCOMPLETE, Reason.COMPOUND_INCOMPLETE),
    (FailureKind.CONTEXT_LIMIT, Reason.CONTEXT_LIMIT),
    (FailureKind.SAFETY_BLOCK, Reason.SAFETY_BLOCK),
    (FailureKind.SAFETY_BLOCK, Reason.REFUSED_BY_MODEL),
    (FailureKind.BUG, Reason.INTERNAL_ERROR),
    (FailureKind.BUG, Reason.CANCELLED),
]


def failure(kind: FailureKind, reason: Reason) -> Failure:
    return Failure(kind, reason, "one/m-one: it failed", "model_attempt", "one", "m-one")


@pytest.mark.spec("FB-15")
@pytest.mark.parametrize(("kind", "reason"), COUNTED)
def test_what_the_provider_did_badly_counts(kind: FailureKind, reason: Reason):
    assert counts(failure(kind, reason)) is True


@pytest.mark.spec("FB-15")
@pytest.mark.parametrize(("kind", "reason"), NOT_COUNTED)
def test_refusals_blocks_and_our_own_faults_do_not_count(kind: FailureKind, reason: Reason):
    assert counts(failure(kind, reason)) is False


def test_every_kind_of_failure_is_judged_by_these_tables():
    assert {kind for kind, _ in COUNTED + NOT_COUNTED} == set(FailureKind)


@pytest.mark.spec("FB-15")
def test_a_provider_that_nobody_knows_anything_against_is_asked():
    assert CircuitAnswer().state is CircuitState.CLOSED
