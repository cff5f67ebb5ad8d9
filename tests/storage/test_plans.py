"""What the first screens ask is found by an index: no question of one turn, or of what runs, reads all turns (LOG-07)."""

import pytest
from builders import LogBuilder

from phasewalk.storage import health, queries, turn_document, turn_view, turn_visits
from phasewalk.storage.health import period, processes

LARGE = ("turn", "phase_event", "attempt", "effect", "effect_event", "tool_call", "payload", "fallback_step", "message")


def scans(builder: LogBuilder, ask) -> set[str]:
    """Each large table that is read from end to end while `ask` asks, by the plans of all its statements.

    What wants the newest row that fits reads from the end and stops there.
    """
    statements: list[str] = []
    builder.log.set_trace_callback(statements.append)
    ask(builder.log)
    builder.log.set_trace_callback(None)
    found = set()
    for statement in statements:
        if statement.startswith(("SELECT", "WITH")) and "ORDER BY turn_id DESC LIMIT 1" not in statement:
            for *_, step in builder.log.execute(f"EXPLAIN QUERY PLAN {statement}"):
                words = step.split()
                if words[0] == "SCAN" and words[1] in NAMES and "INDEX" not in words:
                    found.add(f"{NAMES[words[1]]} in {statement[:60]}")
    return found


NAMES = {name: name for name in LARGE} | {
    "t": "turn",
    "e": "phase_event or effect",
    "a": "attempt",
    "s": "fallback_step",
}


@pytest.fixture
def filled(builder: LogBuilder) -> LogBuilder:
    for age in range(30):
        turn = builder.turn(age=age)
        builder.enter(turn, "classify", 0)
        builder.attempt(turn, 1)
        builder.effect(turn, "answer", "general", "receipt", {"text": "hi"})
    return builder


@pytest.mark.spec("LOG-07")
def test_one_turn_is_shown_without_reading_the_others(filled: LogBuilder):
    turn = queries.turns_named(filled.log, "last")[0]
    assert scans(filled, lambda log: turn_view.turn_item(log, turn, detail=True)) == set()
    assert scans(filled, lambda log: (turn_document.turn_document(log, turn), turn_visits.visits(log, turn))) == set()


@pytest.mark.spec("LOG-07", "OPS-10")
@pytest.mark.parametrize("name", ["last", "last~2", "1ngw", "https://discord.com/channels/1/2/1100000000000000003"])
def test_a_name_is_looked_up_without_reading_all_turns(filled: LogBuilder, name):
    assert scans(filled, lambda log: queries.turns_named(log, name)) == set()


@pytest.mark.spec("LOG-07")
def test_what_is_stuck_and_who_runs_is_found_by_an_index(filled: LogBuilder):
    assert scans(filled, lambda log: (queries.stuck_turns(log), processes(log))) == set()


@pytest.mark.spec("LOG-07", "OPS-11")
def test_the_first_screen_reads_its_day_and_no_more(filled: LogBuilder):
    found = scans(filled, lambda log: (period(log, filled.at(86_400), filled.at(3600)), health.fallback_stops(log, 0)))
    assert found == set()
