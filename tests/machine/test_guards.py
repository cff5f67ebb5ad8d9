"""Each guard both ways, with the values that it compared; none changes what it looks at."""

from copy import deepcopy

import pytest
from attrs import evolve

from phasewalk.machine.effects import Effect, EffectKind, EffectState
from phasewalk.machine.fallback import Failure, FailureKind, Progress
from phasewalk.machine.guards import GUARDS, Asked
from phasewalk.machine.limits import Limits
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Plan, Speech

TOOL = Effect("e1", EffectKind.TOOL, "key", "add_note", EffectState.DONE)
UNSENT = Effect("e2", EffectKind.ANSWER, "key", "general", EffectState.FAILED)
US = 1_000_000


def failed(kind: FailureKind, **changes: object) -> Failure:
    return Failure(**{"kind": kind, "reason": Reason.HTTP_5XX, "message": "m", "phase": "model_attempt", **changes})


ONE, TWO = "one candidate", "two candidates"
TRANSIENT = failed(FailureKind.TRANSIENT)
RULE = "transient failure: retry, then fall back"
CASES = [
    ("tools_were_offered", {"offered": ("dice",)}, True, {"offered": ["dice"]}),
    ("tools_were_offered", {}, False, {"offered": []}),
    ("context_overflowed", {"failure": failed(FailureKind.CONTEXT_LIMIT)}, True, {"kind": "context_limit"}),
    ("context_overflowed", {"failure": TRANSIENT}, False, {"kind": "transient"}),
    ("context_overflowed", {}, False, {"kind": None}),
    ("no_side_effects", {}, True, {"effects": []}),
    ("no_side_effects", {"effects": (UNSENT,)}, True, {"effects": ["answer:general:failed"]}),
    ("no_side_effects", {"effects": (TOOL,)}, False, {"effects": ["tool:add_note:done"]}),
    ("not_shrunk_yet", {}, True, {"shrunk": False}),
    ("not_shrunk_yet", {"progress": Progress(shrunk=True)}, False, {"shrunk": True}),
    ("before_deadline", {"deadline": 1000.5}, True, {"time_left": 0.5}),
    ("before_deadline", {"deadline": 1000.0}, False, {"time_left": 0.0}),
    ("before_deadline", {"deadline": 997.0}, False, {"time_left": -3.0}),
    ("retry_allowed", {"failure": TRANSIENT, "contract": ONE}, True, {"rule": RULE, "after_effects": False}),
    (
        "retry_allowed",
        {"failure": failed(FailureKind.PERMANENT), "contract": ONE, "effects": (TOOL,)},
        False,
        {"rule": "permanent failure after effects: stop", "after_effects": True},
    ),
    ("retry_allowed", {"contract": ONE}, False, {}),
    ("retry_allowed", {"failure": TRANSIENT}, False, {}),
    ("attempts_left", {"failure": TRANSIENT, "contract": ONE}, True, {"left": 2, "failures": 1, "limit": 3}),
    (
        "attempts_left",
        {"failure": TRANSIENT, "contract": ONE, "progress": Progress(failures=2)},
        False,
        {"left": 0, "failures": 3, "limit": 3},
    ),
    ("attempts_left", {"contract": ONE}, False, {}),
    (
        "delay_fits_deadline",
        {"failure": TRANSIENT, "contract": ONE, "deadline": 1001.5},
        True,
        {"delay": 1.0, "time_left": 1.5},
    ),
    (
        "delay_fits_deadline",
        {"failure": TRANSIENT, "contract": ONE, "deadline": 1001.0},
        False,
        {"delay": 1.0, "time_left": 1.0},
    ),
    ("delay_fits_deadline", {}, False, {}),
    ("fallback_allowed", {"failure": TRANSIENT, "contract": ONE}, True, {"rule": RULE}),
    ("fallback_allowed", {"failure": failed(FailureKind.BUG), "contract": ONE}, False, {"rule": "bug: stop"}),
    ("fallback_allowed", {}, False, {}),
    ("candidate_left", {"failure": TRANSIENT, "contract": TWO}, True, {"next": "two/m-two", "at": 1, "of": 2}),
    ("candidate_left", {"failure": TRANSIENT, "contract": ONE}, False, {"next": None, "at": 1, "of": 1}),
    (
        "candidate_left",
        {"failure": TRANSIENT, "contract": TWO, "progress": Progress(candidate=1)},
        False,
        {"next": None, "at": 2, "of": 2},
    ),
    ("candidate_left", {}, False, {"next": None, "at": 1, "of": 0}),
    ("superseded", {"superseded": True}, True, {}),
    ("superseded", {}, False, {}),
    ("has_something_to_deliver", {"plan": Plan((Speech("answer", "general", "x"),))}, True, {"speeches": 1}),
    ("has_something_to_deliver", {"plan": Plan()}, False, {"speeches": 0}),
    ("has_something_to_deliver", {}, False, {"speeches": 0}),
    ("nothing_intended", {}, True, {"effects": 0}),
    ("nothing_intended", {"effects": (UNSENT,)}, False, {"effects": 1}),
    ("claims_left", {"claims": 2}, True, {"claims": 2, "limit": 3}),
    ("claims_left", {"claims": 3}, False, {"claims": 3, "limit": 3}),
    ("recent_enough", {"opened": 900 * US}, True, {"age": 900.0, "limit": 900.0}),
    ("recent_enough", {"opened": 900 * US + 1000}, False, {"age": 900.001, "limit": 900.0}),
    ("recent_enough", {"opened": 0}, True, {"age": 0.0, "limit": 900.0}),
]


@pytest.mark.spec("TURN-01", "FB-13")
@pytest.mark.parametrize(("guard", "state", "held", "values"), CASES)
def test_a_guard_answers_with_the_values_that_it_compared(make, guard: str, state: dict, held: bool, values: dict):
    now_us = 10_000 * US
    state = dict(state)
    if "contract" in state:
        names = ("one",) if state["contract"] == ONE else ("one", "two")
        state["contract"] = make.contract(candidates=tuple(make.candidate(name) for name in names))
    if "opened" in state:
        state["opened_us"] = now_us - state.pop("opened")
    asked = Asked(make.turn(**state), 1000.0, now_us)
    before = deepcopy((asked.turn, asked.now, asked.now_us))
    verdict = GUARDS[guard](asked)
    assert (verdict.held, verdict.values) == (held, values)
    assert (asked.turn, asked.now, asked.now_us) == before


def test_every_guard_is_seen_to_hold_and_to_refuse():
    assert {(guard, held) for guard, _, held, _ in CASES} == {(name, held) for name in GUARDS for held in (True, False)}


@pytest.mark.spec("TURN-01")
@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_asked_twice_says_the_same(make, name: str):
    turn = make.turn(failure=TRANSIENT, contract=make.contract(), limits=evolve(Limits(), attempts=1))
    assert GUARDS[name](Asked(turn, 1000.0, 0)) == GUARDS[name](Asked(turn, 1000.0, 0))
