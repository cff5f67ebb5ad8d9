"""The simulated month of `bench/simulate.py` is what the real log would hold: legal walks, sound rows, one seed one file."""

import hashlib
import json
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from phasewalk.machine.summary_table import SUMMARY_TABLE
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.storage.compression import unpacked

BENCH = Path(__file__).parents[2] / "bench"
NOW_US = 1_790_000_000_000_000
FAULTS = ("process_dead", "ignoring", "hanging", "failing", "undelivered", "canned")
TABLES = {"turn": TURN_TABLE, "summary": SUMMARY_TABLE}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """A month of so many turns under a fault, made once."""
    sys.path.insert(0, str(BENCH))
    try:
        from simulate import simulate
    finally:
        sys.path.remove(str(BENCH))
    folder, made = tmp_path_factory.mktemp("months"), {}

    def month(fault=None, turns=2000, seed=1, name=""):
        key = (fault, turns, seed, name)
        if key not in made:
            path = folder / f"{fault}-{turns}-{seed}-{name}.db"
            simulate(path, turns, seed=seed, fault=fault, now_us=NOW_US)
            made[key] = sqlite3.connect(path)
        return made[key]

    yield month
    for log in made.values():
        log.close()


@pytest.fixture(params=[None, *FAULTS], ids=str)
def month(request, simulated):
    return simulated(request.param)


def test_every_row_has_what_it_refers_to(month):
    assert month.execute("PRAGMA foreign_key_check").fetchall() == []
    assert month.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    referred = (
        "SELECT text_digest FROM turn WHERE text_digest IS NOT NULL UNION SELECT response_digest FROM attempt"
        " WHERE response_digest IS NOT NULL UNION SELECT arguments_digest FROM tool_call"
        " UNION SELECT result_digest FROM tool_call WHERE result_digest IS NOT NULL"
        " UNION SELECT p.atom FROM phase_event AS e, json_tree(e.detail) AS p WHERE e.detail LIKE '%{\"payload\":%' AND p.key = 'payload'"
        " UNION SELECT p.atom FROM effect_event AS e, json_tree(e.detail) AS p WHERE p.key = 'payload'"
    )
    assert month.execute(f"{referred} EXCEPT SELECT digest FROM payload").fetchall() == []


def test_every_walk_is_legal_by_its_table(month):
    rows = {
        (table.name, source, event, row.id, row.target): row.guards
        for table in TABLES.values() for row in table.rows for source in row.sources for event in row.events
    }  # fmt: skip
    walks = defaultdict(list)
    for turn_id, *event in month.execute(
        "SELECT turn_id, seq, phase, visit, kind, event, transition, to_phase, guards, at_us, mono_ns FROM phase_event"
        " ORDER BY turn_id, seq"
    ):
        walks[turn_id].append(event)
    turns = month.execute("SELECT turn_id, machine, phase, ended_us FROM turn").fetchall()
    assert set(walks) == {turn[0] for turn in turns}
    for turn_id, machine, phase, ended_us in turns:
        walk = walks[turn_id]
        assert [seq for seq, *_ in walk] == list(range(1, len(walk) + 1))
        assert (walk[-1][1], walk[-1][3]) == (phase, "enter")
        assert (phase == "done") == (ended_us is not None)
        visits = Counter()
        for seq, name, visit, kind, event, transition, to_phase, guards, *times in walk:
            if kind == "enter":
                visits[name] += 1
                assert seq == 1 or walk[seq - 2][6] == name
            else:
                held = [asked["name"] for asked in json.loads(guards or "[]") if asked["transition"] == transition]
                assert held == list(rows[machine, name, event, transition, to_phase])
            assert visit == visits[name]
            assert seq == 1 or times >= walk[seq - 2][-2:]


def test_events_effects_and_messages_stand_in_the_order_of_their_time(month):
    for table, key, at in (("phase_event", "event_id", "at_us"), ("effect_event", "effect_event_id", "at_us")):
        times = [row[0] for row in month.execute(f"SELECT {at} FROM {table} ORDER BY {key}")]
        assert times == sorted(times)
    window = "SELECT count(*) FROM message WHERE trimmed_us IS NULL"
    assert month.execute(window).fetchone()[0] <= 40


def test_payloads_hold_what_their_digests_say(simulated):
    month = simulated("failing")
    for digest, chars, encoding, body in month.execute("SELECT digest, chars, encoding, body FROM payload LIMIT 400"):
        text = unpacked(encoding, body)
        assert len(text) == chars
        assert hashlib.blake2b(text.encode(), digest_size=16).hexdigest() == digest


def test_no_placeholder_is_left(simulated):
    month = simulated("failing")
    left = re.compile(
        "qq(?:turn|token|effect|call|words|answer|name|channel|response|created|when|history)|8800000000000000"
    )
    for table in ("turn", "phase_event", "attempt", "tool_call", "effect", "effect_event", "message", "contract"):
        for row in month.execute(f"SELECT * FROM {table}"):
            assert left.search(repr(row)) is None


def test_one_seed_makes_one_file(simulated):
    def told(log):
        tables = [name for (name,) in log.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        digest = hashlib.sha256()
        for table in tables:
            if not table.startswith(("_", "message_index", "sqlite_")):
                for row in log.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2'):
                    digest.update(repr(row).encode())
        return digest.hexdigest()

    first, again, other = (simulated(None, 150, seed, name) for seed, name in ((5, "a"), (5, "b"), (6, "")))
    assert told(first) == told(again) != told(other)


SHAPES = {
    "process_dead": "SELECT count(*) >= 4 FROM turn WHERE ended_us IS NULL",
    "ignoring": "SELECT sum(count) >= 20 FROM ignored_message WHERE reason = 'nothing_to_do' AND last_us > :since",
    "hanging": "SELECT count(*) >= 5 FROM turn WHERE ended_us IS NULL AND phase = 'model_attempt'",
    "failing": "SELECT count(*) >= 20 FROM turn WHERE outcome IN ('stopped', 'partial') AND started_us > :since",
    "undelivered": "SELECT count(*) >= 20 FROM turn WHERE outcome = 'undelivered' AND started_us > :since",
    "canned": "SELECT count(*) >= 20 FROM turn WHERE owner = 'notice' AND started_us > :since",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_shapes_the_last_hours(simulated, fault):
    since = NOW_US - 3 * 3_600_000_000
    assert simulated(fault).execute(SHAPES[fault], {"since": since}).fetchone() == (1,)
    assert not simulated(None).execute(SHAPES[fault], {"since": since}).fetchone()[0]
