"""From numbers to a verdict: each fault told apart, and no verdict on too little (OPS-11)."""

import pytest

from phasewalk.storage.health import Asked, Group, Period, Process
from phasewalk.surfaces.cli.verdict import Evidence, Stuck, judge

NOW = 1_800_000_000_000_000
SECOND = 1_000_000


def group(outcome: str, turns: int, *, reason: str = "ok", **changes: object) -> Group:
    values = {
        "outcome": outcome, "reason": reason, "first_reason": None, "phase": "record", "turns": turns, "lately": 0,
        "addressed": 0, "noticed": 0, "flagged": 0, "first_us": NOW - 7200 * SECOND, "last_us": NOW,
    }  # fmt: skip
    return Group(**{**values, **changes})


def evidence(*groups: Group, stuck=(), processes=(), **changes: object) -> Evidence:
    values = {
        "since_us": NOW - 86_400 * SECOND, "groups": groups, "running": 0, "got_nothing": 0, "in_doubt": 0,
        "ignored": (), "ignored_lately": (), "heard_us": NOW, "repeated": (0, 0), "asked": (Asked("one/m", 1, 0),), "rows_lost": 0,
    }  # fmt: skip
    return Evidence(NOW, Period(**{**values, **changes}), "the last 24 h", tuple(stuck), tuple(processes))


def process(state: str, *, command: str = "bot", silent: int = 0) -> Process:
    ended = NOW if state == "ended" else None
    return Process(1, "h", 4711, command, "0.1.0", NOW, NOW - silent * SECOND, ended, ended and "finished", state)


LONG_AGO = NOW - 5 * 3600 * SECOND
WELL = group("answered", 100, addressed=100)

FAULTS = {
    "dead": (evidence(WELL, processes=[process("gone")]), "process 4711 (bot) died without a word"),
    "deaf": (
        evidence(WELL, processes=[process("alive", silent=600)]),
        "process 4711 (bot) runs but gives no sign of life",
    ),
    "ignoring": (
        evidence(ignored=(("bot_author", 45), ("own_message", 5))),
        "every message is ignored, 45 of 50 for bot_author",
    ),
    "canned words": (evidence(WELL, repeated=(9, 12)), "9 of 12 answers of the last hour are the same words"),
    "ignoring lately": (
        evidence(
            WELL, ignored=(("own_message", 90), ("paused", 14)), ignored_lately=(("paused", 12),), heard_us=LONG_AGO
        ),
        "every message of the last hour is ignored, 12 of 12 for paused",
    ),
    "hanging": (evidence(WELL, stuck=[Stuck("deadline_passed", NOW)]), "1 turn is not moving"),
    "failing": (
        evidence(group("answered", 60), group("stopped", 40, reason="candidates_exhausted")),
        "40 of 100 turns of the last 24 h ended badly, mostly candidates_exhausted",
    ),
    "failing lately": (
        evidence(group("answered", 500, lately=2), group("stopped", 12, reason="side_effects", lately=12)),
        "12 of 14 turns of the last hour ended badly, mostly side_effects",
    ),
    "undelivered": (
        evidence(group("answered", 60), group("undelivered", 40, reason="delivery_forbidden")),
        "40 of 100 answers were made and not delivered, mostly delivery_forbidden",
    ),
    "undelivered lately": (
        evidence(group("answered", 900, lately=4), group("undelivered", 12, reason="delivery_forbidden", lately=12)),
        "12 of 16 answers of the last hour were made and not delivered, mostly delivery_forbidden",
    ),
    "canned lately": (
        evidence(
            group("answered", 900, addressed=900, addressed_lately=3),
            group("unclear", 12, addressed=12, noticed=12, addressed_lately=12, noticed_lately=12),
        ),
        "12 of 15 who spoke to the bot lately got a fixed notice",
    ),
    "dead elsewhere": (
        evidence(WELL, processes=[process("unknown", silent=600)]),
        "process 4711 (bot) on h gives no sign of life",
    ),
    "unheard": (evidence(WELL, got_nothing=30), "30 of 100 who spoke to the bot got nothing"),
    "canned": (
        evidence(group("unclear", 60, addressed=60, noticed=60), group("answered", 40, addressed=40)),
        "60 of 100 who spoke to the bot got a fixed notice",
    ),
    "doubtful": (evidence(WELL, in_doubt=2), "2 effects may or may not have happened"),
}


@pytest.mark.spec("OPS-11")
@pytest.mark.parametrize(("found", "why"), FAULTS.values(), ids=FAULTS)
def test_each_fault_has_a_sentence_of_its_own(found, why):
    verdict = judge(found)
    assert (verdict.word, verdict.why) == ("NOT WELL", why)
    assert verdict.look.startswith("phasewalk ")


@pytest.mark.spec("OPS-11")
def test_faults_are_told_apart():
    assert len({judge(found).why for found, _ in FAULTS.values()}) == len(FAULTS)


@pytest.mark.spec("OPS-11")
def test_what_stops_everything_is_told_first_and_the_others_after_it():
    found = evidence(group("stopped", 50), stuck=[Stuck("process_gone", NOW - SECOND)], processes=[process("gone")])
    causes = [cause.what for cause in judge(found).causes]
    assert causes[0] == "process 4711 (bot) died without a word"
    assert causes[1] == "1 turn is not moving since its process died"
    assert causes[2].startswith("50 of 50 turns")


@pytest.mark.spec("OPS-11")
def test_since_when_is_the_oldest_sign_of_the_fault():
    hanging = judge(evidence(WELL, stuck=[Stuck("deadline_passed", NOW - 5), Stuck("deadline_passed", NOW - 9)]))
    assert hanging.since_us == NOW - 9
    failing = judge(evidence(group("stopped", 40, first_us=NOW - 77), group("answered", 60, first_us=NOW - 99)))
    assert failing.since_us == NOW - 77


WELL_ENOUGH = {
    "nothing wrong": evidence(WELL),
    "one in twenty": evidence(group("answered", 95), group("stopped", 5)),
    "overheard and silent": evidence(group("silent", 100)),
    "a one-off command that was killed": evidence(WELL, processes=[process("gone", command="turn")]),
    "a bot that was stopped in order": evidence(WELL, processes=[process("ended")]),
    "a bot on another host": evidence(WELL, processes=[process("unknown", silent=60)]),
    "a bot that lives": evidence(WELL, processes=[process("alive", silent=60)]),
    "some ignored": evidence(WELL, ignored=(("bot_author", 45),)),
    "many ignored, and one heard": evidence(WELL, ignored_lately=(("paused", 45),), heard_us=NOW - 3500 * SECOND),
    "some answers alike": evidence(WELL, repeated=(6, 12)),
    "few answers": evidence(WELL, repeated=(9, 9)),
    "a quiet hour": evidence(WELL, ignored_lately=(("paused", 9),), heard_us=LONG_AGO),
    "machines only": evidence(WELL, ignored_lately=(("bot_author", 45), ("own_message", 9)), heard_us=LONG_AGO),
    "most are always ignored": evidence(
        WELL, ignored=(("paused", 212),), ignored_lately=(("paused", 12),), heard_us=LONG_AGO
    ),
}


@pytest.mark.spec("OPS-11")
@pytest.mark.parametrize("found", WELL_ENOUGH.values(), ids=WELL_ENOUGH)
def test_what_is_no_fault_is_well(found):
    assert judge(found).word == "WELL"


@pytest.mark.spec("OPS-11")
def test_between_well_and_not_well_it_is_unclear():
    verdict = judge(evidence(group("answered", 90), group("expired", 10, reason="deadline_passed")))
    assert (verdict.word, verdict.why) == ("UNCLEAR", "10 of 100 turns of the last 24 h ended badly")


@pytest.mark.spec("OPS-11", "OPS-13")
def test_a_log_with_lost_rows_cannot_be_called_well():
    verdict = judge(evidence(WELL, rows_lost=3))
    assert (verdict.word, verdict.why) == ("UNCLEAR", "3 rows of the log were lost in the last 24 h")


@pytest.mark.spec("OPS-11")
def test_under_twenty_turns_there_are_counts_and_no_verdict():
    few, enough = (judge(evidence(group("stopped", turns))) for turns in (19, 20))
    assert (few.word, few.why) == ("TOO FEW TURNS", "19 in the last 24 h, a verdict needs 20")
    assert enough.word == "NOT WELL"


@pytest.mark.spec("OPS-11")
def test_without_turns_there_is_no_verdict():
    assert judge(evidence()).word == "NO TURNS"
    assert judge(evidence(ignored=(("paused", 3),))).why == "none in the last 24 h, 3 messages opened none"
