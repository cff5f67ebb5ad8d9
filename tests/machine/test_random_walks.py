"""Random walks over the table: whatever phases report and guards answer, every walk ends."""

import os
import random

import pytest

from phasewalk.machine.engine import Engine, Verdict
from phasewalk.machine.guards import GUARDS
from phasewalk.machine.table import INTERRUPTIONS
from phasewalk.machine.turn_table import TURN_TABLE

WALKS = int(os.environ.get("PHASEWALK_WALKS", "2000"))
BLOCKS = 4
ATTEMPTS = 12
"""How many model calls one walk may make: what attempts, candidates and rounds bound in a real turn."""

CLAIMS = 3
BOUND = 10 + 3 * ATTEMPTS * (CLAIMS + 1)
COSTS_AN_ATTEMPT = {"T13", "T14", "T15", "T18", "T22", "T23"}


class Chance:
    """Guards that answer by chance, as far as the budgets of a turn let them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.attempts = 0
        self.claims = 1

    def ask(self, name: str) -> Verdict:
        bounded = {
            "attempts_left": self.attempts < ATTEMPTS,
            "candidate_left": self.attempts < ATTEMPTS,
            "not_shrunk_yet": self.attempts < ATTEMPTS,
            "tools_were_offered": self.attempts < ATTEMPTS,
            "claims_left": self.claims < CLAIMS,
        }
        return Verdict(bounded.get(name, True) and self.chance.random() < 0.6)

    def event(self, phase: str, interruptions: int) -> str:
        events = sorted(TURN_TABLE.events_of(phase))
        if interruptions >= CLAIMS:
            events = [event for event in events if event != "interrupted"]
        weights = [0.1 if event in INTERRUPTIONS else 1.0 for event in events]
        return self.chance.choices(events, weights)[0]


ENGINE: Engine[Chance] = Engine(TURN_TABLE, {name: lambda chance, name=name: chance.ask(name) for name in GUARDS})


def walk(seed: int) -> list[str]:
    """The ids of the rows of one walk; fails where it takes an illegal one or does not end."""
    chance, phase, taken, interruptions = Chance(seed), TURN_TABLE.initial, [], 0
    while phase != TURN_TABLE.final:
        event = chance.event(phase, interruptions)
        interruptions += event == "interrupted"
        row = ENGINE.step(f"walk-{seed}", phase, event, chance).row
        assert row in TURN_TABLE.by_phase_and_event[phase, event], (
            f"walk {seed}: {row.id} is no row of {phase}, {event}"
        )
        chance.attempts += row.id in COSTS_AN_ATTEMPT
        if row.id == "T40":
            chance.attempts, chance.claims = 0, chance.claims + 1
        taken.append(row.id)
        phase = row.target
        assert len(taken) <= BOUND, f"walk {seed} does not end: {taken[-20:]}"
    return taken


@pytest.mark.spec("BAR-21", "TURN-04")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_walk_ends(block: int):
    for seed in range(block, WALKS, BLOCKS):
        taken = walk(seed)
        assert taken[-1] in ("T28", "T36")
        assert sum(TURN_TABLE.by_id[row].target == "done" for row in taken) == 1


@pytest.mark.spec("BAR-21")
def test_the_walks_take_every_row_of_the_table():
    unused = set(TURN_TABLE.by_id)
    for seed in range(2000):
        unused -= set(walk(seed))
        if not unused:
            break
    assert unused == set()


def test_a_seed_always_walks_the_same_way():
    assert walk(7) == walk(7)
    assert len({tuple(walk(seed)) for seed in range(50)}) > 10


def test_the_events_from_outside_can_strike_in_every_phase():
    shielded = {"crashed", "interrupted"}
    for phase in TURN_TABLE.phases:
        struck = TURN_TABLE.events_of(phase) & set(INTERRUPTIONS)
        assert struck == (shielded if phase == "record" else set(INTERRUPTIONS))
