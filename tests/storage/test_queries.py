"""The questions behind the looking commands: what they cover, where they begin to look, what they leave out."""

import pytest
from builders import GONE, LogBuilder, base32

from phasewalk.storage.health import fallback_stops, newest_us, period, process_at, processes
from phasewalk.storage.queries import (
    covered_period,
    heat_of,
    id_floor,
    list_turns,
    machine_of,
    path_of,
    stuck_turns,
    turns_named,
)
from phasewalk.surfaces.ids import SystemIds

HOUR = 3_600_000_000


@pytest.mark.spec("LOG-06")
def test_turn_ids_of_a_time_sort_behind_the_floor_of_that_time(builder: LogBuilder):
    made = SystemIds().turn_id()
    assert id_floor(builder.now_us) < made < id_floor(builder.now_us + 2 * HOUR)


def test_the_floor_leaves_a_minute_for_what_started_a_little_later_than_its_id_says():
    second = 1_796_080_379
    floor = id_floor(second * 1_000_000)
    assert floor == base32(second - 60, 7)
    assert base32((second - 60) << 35, 14) > floor > base32(((second - 60) << 35) - 1, 14)


def test_the_floor_of_the_beginning_is_below_every_id():
    assert id_floor(0) == id_floor(59_000_000) == ""


def test_a_turn_of_another_kind_of_id_is_found_since_a_time(builder: LogBuilder):
    builder.turn(turn_id="turn-1")
    found = list_turns(builder.log, {"since": builder.at(3600)}, retrying=False, where=None, limit=5)
    assert [row["turn_id"] for row in found] == ["turn-1"]


def test_one_turn_more_than_the_limit_tells_that_there_are_more(builder: LogBuilder):
    builder.turns(5)
    assert len(list_turns(builder.log, {}, retrying=False, where=None, limit=3)) == 4


@pytest.mark.spec("OPS-13")
def test_the_period_of_a_log_tells_what_was_pruned_and_lost(builder: LogBuilder):
    assert covered_period(builder.log) == (None, None, 0, None, 0)
    builder.turn(age=90)
    builder.turn(age=30)
    builder.insert("prune_log", at_us=1, what="turns", before_us=77, rows=4)
    builder.insert("log_loss", at_us=1, rows=3, what="no space")
    assert covered_period(builder.log) == (builder.at(90), builder.at(30), 2, 77, 3)


@pytest.mark.spec("OPS-10")
def test_only_a_link_of_discord_names_a_message(builder: LogBuilder):
    turn = builder.turn(trigger_message_id="1100000000000000009")
    assert turns_named(builder.log, "https://discord.com/channels/1/2/1100000000000000009?x=1#y") == [turn]
    assert turns_named(builder.log, "https://example.com/channels/1/2/1100000000000000009") == []
    assert turns_named(builder.log, "https://discord.com.example.com/channels/1/2/1100000000000000009") == []


def test_a_machine_a_path_and_the_traffic_of_a_log(builder: LogBuilder):
    turn, other = builder.turn(), builder.turn(age=9 * 86_400)
    for each in (turn, other):
        builder.enter(each, "received", 0)
        builder.leave(each, "received", 1, "T01 admitted", "classify")
    builder.leave(turn, "classify", 2, "T04 classified", "freeze_contract")
    assert path_of(builder.log, turn) == [("received", "T01", "classify"), ("classify", "T04", "freeze_contract")]
    assert '"name":"turn"' in machine_of(builder.log, turn)
    (digest,) = builder.log.execute("SELECT hash FROM machine").fetchone()
    assert heat_of(builder.log, digest, None)["received", "T01", "classify"] == 2
    assert heat_of(builder.log, digest, builder.at(86_400))["received", "T01", "classify"] == 1
    assert heat_of(builder.log, "another", None) == {}


def test_stuck_asks_of_each_process_of_this_host_alone(builder: LogBuilder):
    asked = []

    def alive(pid: int, _mark: str) -> bool:
        asked.append(pid)
        return pid != 11

    for pid, host in ((11, None), (12, None), (13, "elsewhere")):
        builder.process(pid=pid, host=host)
        builder.enter(builder.turn(outcome=None, phase="classify", deadline_us=builder.at(-60)), "classify", 0)
    assert [(row["pid"], row["rule"]) for row in stuck_turns(builder.log, alive)] == [(11, "process_gone")]
    assert asked == [11, 12]


def test_processes_are_alive_gone_ended_or_unknown(builder: LogBuilder):
    builder.process(ended="finished")
    builder.process(ended="stopped by SIGTERM")
    builder.process(pid=GONE)
    builder.process(pid=GONE, host="elsewhere")
    builder.process()
    assert [(p.process_id, p.state) for p in processes(builder.log)] == [
        (5, "alive"), (4, "unknown"), (3, "gone"), (2, "ended"),
    ]  # fmt: skip


def test_a_bot_that_died_is_not_hidden_by_later_commands(builder: LogBuilder):
    dead = builder.process(pid=GONE)
    for _ in range(20):
        builder.process(command="turn", ended="finished")
    assert dead in [p.process_id for p in processes(builder.log)]


def test_the_process_that_had_started_by_a_time(builder: LogBuilder):
    first = builder.process(age=100)
    builder.process(age=10)
    found = process_at(builder.log, builder.at(50))
    assert found is not None
    assert found.process_id == first
    assert process_at(builder.log, builder.at(500)) is None


def test_a_period_counts_what_started_in_it(builder: LogBuilder):
    builder.turns(3)
    builder.turns(2, age=7200, outcome="stopped", reason="side_effects", owner="notice", addressed=1)
    builder.turn(age=200_000)
    found = period(builder.log, builder.at(86_400), builder.at(3600))
    assert [(g.outcome, g.turns, g.lately, g.addressed, g.noticed) for g in found.groups] == [
        ("answered", 3, 3, 3, 0), ("stopped", 2, 0, 2, 2),
    ]  # fmt: skip
    assert newest_us(builder.log) == builder.at(60)


def test_a_period_counts_doubts_and_silence_of_its_own_turns_alone(builder: LogBuilder):
    for age in (60, 200_000):
        builder.effect(builder.turn(age=age, outcome="in_doubt", reason="delivery_in_doubt"), "answer", "general", None)
        builder.effect(builder.turn(age=age), "answer", "general", "receipt")
    found = period(builder.log, builder.at(86_400), builder.at(3600))
    assert (found.in_doubt, found.got_nothing) == (1, 1)
    everything = period(builder.log, 0, builder.at(3600))
    assert (everything.in_doubt, everything.got_nothing) == (2, 2)


def test_a_period_counts_who_was_asked_and_what_was_ignored(builder: LogBuilder):
    turn, old = builder.turn(), builder.turn(age=200_000)
    builder.attempt(turn, 1)
    builder.attempt(turn, 2, status="failed", reason="http_5xx")
    builder.attempt(old, 1, started_us=builder.at(200_000))
    for reason, count, age in (("paused", 2, 10), ("bot_author", 9, 10), ("own_message", 99, 200_000)):
        builder.insert(
            "ignored_message", process_id=1, channel_id="1", reason=reason, count=count, last_us=builder.at(age),
            hour_us=builder.at(age),
        )  # fmt: skip
    found = period(builder.log, builder.at(86_400), builder.at(3600))
    assert found.asked == (("one/m-one", 2, 1),)
    assert found.ignored == (("bot_author", 9), ("paused", 2))


def test_a_period_counts_answers_in_the_same_words(builder: LogBuilder):
    said = {"channel_id": "1", "role": "assistant", "author_id": "", "author": ""}
    for text, age in (("I cannot help.", 10), ("I cannot help.", 20), ("Four.", 30), ("I cannot help.", 4000)):
        builder.insert("message", text=text, at_us=builder.at(age), **said)
    builder.insert("message", text="I cannot help.", at_us=builder.at(5), state="failed", **said)
    builder.insert("message", text="I cannot help.", at_us=builder.at(5), **{**said, "role": "user"})
    assert period(builder.log, 0, builder.at(3600)).repeated == (2, 3)
    assert period(builder.log, 0, builder.at(1)).repeated == (0, 0)


def test_the_rules_by_which_fallback_ended_are_counted_by_turn(builder: LogBuilder):
    for _ in range(2):
        turn = builder.turn()
        builder.step(turn, 1, "refused side_effects", "FB-02: after effects", {})
    builder.step(turn, 2, "exhausted candidates_exhausted", "FB-10: none left", {})
    builder.step(turn, 3, "skipped no_model", "FB-11: no model", {})
    assert fallback_stops(builder.log, builder.at(3600)) == [("FB-02: after effects", 2), ("FB-10: none left", 1)]
