"""Forgetting: every trace of a person or a turn goes, and the bytes of the file prove it (LOG-11)."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from builders import GONE, LogBuilder

from phasewalk.machine.documents import digest_of, payload_of
from phasewalk.storage import retention_forget
from phasewalk.storage.backup import InUseError
from phasewalk.storage.compression import packed, unpacked
from phasewalk.storage.retention import fill_index
from phasewalk.storage.retention_forget import ERASED, Proof, forget, planned
from phasewalk.storage.search import candidates

MIRA, TOM = "322467610543259801", "650371854342553753"
SECRET = "my street is called Ottersgate, number forty-two"
LONG = " ".join(f"{SECRET}, part {n} of what I never wanted to say." for n in range(200))


@pytest.fixture
def gone(builder: LogBuilder) -> LogBuilder:
    """A log whose process is gone."""
    builder.process(pid=GONE)
    return builder


def said(builder: LogBuilder, user: str, text: str, **columns: object) -> str:
    """A turn of a person: its question, its message, an answer."""
    turn = builder.turn(user_id=user, user_name="somebody", text=text, **columns)
    builder.enter(turn, "build_prompt", 0, detail={"user": {"message": {"text": text}}})
    builder.attempt(turn, 1, response_digest=builder.payload(f"the response to: {text}"))
    builder.effect(turn, "answer", "general", "receipt", {"text": "Thank you."})
    message = {"turn_id": turn, "channel_id": "200", "at_us": 1}
    builder.insert("message", **message, role="user", author_id=user, author="somebody", text=text)
    builder.insert(
        "message", **message, role="assistant", author_id="", author="helper", text="Thank you.", state="sent"
    )
    return turn


def compressed(builder: LogBuilder, text: str) -> str:
    """A text as the log itself stores it."""
    encoding, body = packed(text.encode())
    digest = payload_of(text).digest
    builder.insert("payload", digest=digest, chars=len(text), encoding=encoding, body=body)
    return digest


def bytes_of(path: Path) -> bytes:
    wal = path.with_name(f"{path.name}-wal")
    return path.read_bytes() + (wal.read_bytes() if wal.exists() else b"")


def erase(builder: LogBuilder, user: str = "", turn: str = "") -> Proof:
    _, proof = forget(builder.path, user, turn, "eve")
    assert proof is not None
    return proof


@pytest.mark.spec("LOG-11")
def test_a_person_is_gone_from_every_byte_and_others_stay(gone: LogBuilder):
    said(gone, MIRA, SECRET)
    compressed(gone, LONG)
    said(gone, MIRA, LONG)
    other = said(gone, TOM, "what is the weather like in Lisbon today?")
    for table in ("note", "task"):
        gone.insert(table, user_id=MIRA, channel_id="200", text=f"a {table}: {SECRET}", at_us=1)
    gone.insert("fact", user_id=MIRA, text=f"a fact: {SECRET}", at_us=1)
    gone.insert("fact", user_id=TOM, text="likes tea", at_us=1)
    fill_index(gone.log)
    packed_body = packed(LONG.encode())[1]
    assert all(trace in bytes_of(gone.path) for trace in (b"Ottersgate", MIRA.encode(), packed_body[:32]))
    proof = erase(gone, MIRA)
    left = bytes_of(gone.path)
    assert [trace for trace in (b"Ottersgate", b"number forty", MIRA.encode(), packed_body[100:132], b"ersg") if trace in left] == []  # fmt: skip
    assert (proof.left, proof.emptied, proof.places) == (0, True, [])
    assert proof.pieces > 50
    assert gone.log.execute("SELECT turn_id FROM turn").fetchall() == [(other,)]
    assert gone.log.execute("SELECT text FROM message ORDER BY entry_id").fetchall() == [
        ("what is the weather like in Lisbon today?",), ("Thank you.",),
    ]  # fmt: skip
    assert gone.log.execute("SELECT text FROM fact").fetchall() == [("likes tea",)]
    assert gone.log.execute("SELECT (SELECT count(*) FROM note) + (SELECT count(*) FROM task)").fetchone() == (0,)
    assert gone.log.execute("PRAGMA foreign_key_check").fetchall() == []
    assert gone.log.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert list(candidates(gone.log, "m.text", ["ottersgate"])) == []
    assert len(list(candidates(gone.log, "m.text", ["lisbon"]))) == 1


@pytest.mark.spec("LOG-11")
def test_remains_of_earlier_changes_in_free_pages_go_too(gone: LogBuilder):
    gone.log.execute("PRAGMA secure_delete = OFF")  # some builds of SQLite clean up by themselves
    said(gone, MIRA, SECRET)
    for number in range(200):
        gone.insert(
            "message", channel_id="200", role="user", author_id=MIRA, author="m", text=f"{SECRET} {number}", at_us=1
        )
    gone.log.execute("UPDATE message SET trimmed_us = 1796140307927523")
    gone.log.execute("DELETE FROM message WHERE turn_id IS NULL")
    gone.log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert gone.path.read_bytes().count(b"Ottersgate") > 50
    erase(gone, MIRA)
    assert b"Ottersgate" not in bytes_of(gone.path)


@pytest.mark.spec("LOG-11")
def test_a_turn_goes_with_its_descendants_and_nothing_else(gone: LogBuilder):
    turn = said(gone, MIRA, SECRET)
    said(gone, MIRA, "a part of it, on the way to Ottersgate", parent_turn_id=turn)
    other = said(gone, MIRA, "something else entirely, of the same person")
    proof = erase(gone, turn=turn)
    assert (proof.left, gone.log.execute("SELECT turn_id FROM turn").fetchall()) == (0, [(other,)])
    assert b"Ottersgate" not in bytes_of(gone.path)
    assert MIRA.encode() in bytes_of(gone.path)


@pytest.mark.spec("LOG-11")
def test_what_a_person_said_in_turns_of_others_goes_and_the_turn_stays(gone: LogBuilder):
    other = said(gone, TOM, "what did they say?")
    gone.insert(
        "message", turn_id=other, channel_id="200", role="user", author_id=MIRA, author="m", text=SECRET, at_us=1
    )
    erase(gone, MIRA)
    assert gone.log.execute("SELECT turn_id FROM turn").fetchall() == [(other,)]
    assert b"Ottersgate" not in bytes_of(gone.path)


@pytest.mark.spec("LOG-11")
def test_quotations_and_the_id_are_taken_out_of_what_others_left(gone: LogBuilder):
    quoted = 'I said: "my dog Barnaby lives there",\nand so it is'
    said(gone, MIRA, SECRET)
    said(gone, MIRA, quoted)
    other = said(gone, TOM, f"ask <@{MIRA}> about it")
    result = json.dumps({"found": [{"author": "mira", "text": quoted}, {"text": f"…{SECRET[5:40]}…"}]})
    gone.enter(other, "tool_rounds", 2, detail={"exchanges": [{"text": result}]})
    digest = compressed(gone, f"A long answer that quotes '{SECRET}' word for word. " + "And more. " * 30)
    gone.attempt(other, 2, cause="retry", response_digest=digest)
    gone.insert("operator_action", at_us=1, who="eve", what="permit a call", target="X", before='"waiting"', after=json.dumps({"user_id": MIRA}))  # fmt: skip
    proof = erase(gone, MIRA)
    left = bytes_of(gone.path)
    assert [trace for trace in (b"Ottersgate", b"Barnaby", MIRA.encode()) if trace in left] == []
    encoding, body = gone.log.execute("SELECT encoding, body FROM payload WHERE digest = ?", (digest,)).fetchone()
    assert unpacked(encoding, body).startswith(f"A long answer that quotes '{ERASED}' word for word.")
    (detail,) = gone.log.execute("SELECT detail FROM phase_event WHERE phase = 'tool_rounds'").fetchone()
    found = json.loads(json.loads(detail)["exchanges"][0]["text"])["found"]
    assert found == [{"author": "mira", "text": ERASED}, {"text": f"…{ERASED}…"}]
    assert gone.log.execute("SELECT after FROM operator_action WHERE what = 'permit a call'").fetchone() == (
        f'{{"user_id": "{ERASED}"}}',
    )
    assert proof.left == 0


@pytest.mark.spec("LOG-11")
def test_the_id_is_taken_out_of_configurations_that_named_the_person(gone: LogBuilder):
    body = json.dumps({"policy": {"owners": [MIRA, TOM]}})
    gone.insert("configuration", hash="c", body=body, first_seen_us=1)
    said(gone, MIRA, SECRET)
    assert erase(gone, user=MIRA).left == 0
    (left,) = gone.log.execute("SELECT body FROM configuration").fetchone()
    assert json.loads(left) == {"policy": {"owners": [ERASED, TOM]}}


@pytest.mark.spec("LOG-11")
def test_what_somebody_else_said_word_for_word_stays_theirs(gone: LogBuilder):
    same = "good morning everybody, the raid is at seven"
    said(gone, MIRA, same)
    other = said(gone, TOM, same)
    assert erase(gone, MIRA).left == 0
    assert gone.log.execute("SELECT text FROM message WHERE role = 'user'").fetchall() == [(same,)]
    assert same in gone.log.execute("SELECT detail FROM phase_event WHERE turn_id = ?", (other,)).fetchone()[0]
    assert gone.log.execute("SELECT body FROM payload WHERE digest = ?", (payload_of(same).digest,)).fetchone() == (same.encode(),)  # fmt: skip


@pytest.mark.spec("LOG-11")
def test_it_stays_theirs_also_where_the_long_text_was_pruned(gone: LogBuilder):
    same = "good morning everybody, the raid is at seven"
    said(gone, MIRA, same)
    said(gone, TOM, same)
    gone.prune(payload_of(same).digest)
    erase(gone, MIRA)
    assert gone.log.execute("SELECT text FROM message WHERE role = 'user'").fetchall() == [(same,)]


@pytest.mark.spec("LOG-08", "LOG-11")
def test_the_index_keeps_no_remains_of_a_word(gone: LogBuilder):
    said(gone, TOM, "something else that stays in the index")
    said(gone, MIRA, "ⰰⰱⰲⰳⰴⰵ")
    fill_index(gone.log)
    words = "SELECT count(*) FROM message_index_data WHERE instr(block, ?)"
    trace = ("ⰱ".encode(),)
    assert gone.log.execute(words, trace).fetchone()[0] > 0
    erase(gone, MIRA)
    assert gone.log.execute(words, trace).fetchone() == (0,)


@pytest.mark.spec("LOG-11")
def test_summaries_of_where_the_person_spoke_go_from_then_on(gone: LogBuilder):
    before = said(gone, TOM, "the beginning of it all, long ago")
    gone.insert("summary", channel_id="200", upto_entry_id=2, turn_id=before, text="before", at_us=1)
    said(gone, MIRA, SECRET)
    for channel, text in (("200", "mira lives in a street"), ("201", "elsewhere")):
        gone.insert("summary", channel_id=channel, upto_entry_id=4, turn_id=before, text=text, at_us=1)
    erase(gone, MIRA)
    assert gone.log.execute("SELECT text FROM summary ORDER BY 1").fetchall() == [("before",), ("elsewhere",)]


@pytest.mark.spec("LOG-11", "LOG-15")
def test_the_log_tells_that_somebody_was_erased_and_by_whom_but_not_who(gone: LogBuilder):
    said(gone, MIRA, SECRET)
    erase(gone, MIRA)
    assert gone.log.execute("SELECT what, before_us, rows, json_extract(detail, '$.messages') FROM prune_log").fetchall() == [
        ("a person", None, 1, 2),
    ]  # fmt: skip
    assert gone.log.execute("SELECT who, what, target FROM operator_action").fetchall() == [
        ("eve", "forget a person", digest_of(MIRA)),
    ]  # fmt: skip


@pytest.mark.spec("LOG-11")
def test_a_dry_run_counts_and_touches_nothing(gone: LogBuilder):
    said(gone, MIRA, SECRET)
    gone.insert("fact", user_id=MIRA, text="likes tea", at_us=1)
    gone.log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = gone.path.read_bytes()
    made = planned(gone.path, MIRA, "")
    assert (len(made.turns), made.messages, len(made.payloads), made.kept) == (
        1,
        2,
        2,
        {"note": 0, "fact": 1, "task": 0, "job": 0},
    )
    assert gone.path.read_bytes() == before


@pytest.mark.spec("LOG-11")
def test_of_nobody_nothing_is_erased_and_nothing_written(gone: LogBuilder):
    said(gone, TOM, SECRET)
    made, proof = forget(gone.path, MIRA, "", "eve")
    assert (made.nothing, proof) == (True, None)
    assert gone.log.execute("SELECT (SELECT count(*) FROM prune_log) + (SELECT count(*) FROM operator_action)").fetchone() == (0,)  # fmt: skip


@pytest.mark.spec("LOG-11")
def test_a_turn_that_runs_is_not_erased(builder: LogBuilder):
    turn = said(builder, MIRA, SECRET, outcome=None, phase="classify")
    with pytest.raises(InUseError, match=f"turn {turn} runs still in process .*; wait until it has ended"):
        forget(builder.path, MIRA, "", "eve")
    assert b"Ottersgate" in bytes_of(builder.path)


@pytest.mark.spec("LOG-11")
def test_a_turn_without_an_end_whose_process_is_gone_is_erased(gone: LogBuilder):
    said(gone, MIRA, SECRET, outcome=None, phase="classify")
    assert erase(gone, MIRA).left == 0


@pytest.mark.spec("LOG-11")
def test_a_process_that_remembers_the_texts_stands_in_the_way_until_it_is_restarted(builder: LogBuilder):
    first = builder.process(command="bot")
    said(builder, MIRA, SECRET)
    with pytest.raises(InUseError, match=r"\(bot\) may still refer to 2 of these texts; restart it first"):
        forget(builder.path, MIRA, "", "eve")
    assert builder.log.execute("SELECT count(*) FROM prune_log").fetchone() == (0,)
    builder.log.execute("UPDATE process SET ended_us = 9, end_reason = 'restart' WHERE process_id = ?", (first,))
    builder.process(command="bot")  # the next one runs, and knows nothing of it
    assert erase(builder, MIRA).left == 0


@pytest.mark.spec("LOG-11")
def test_a_reader_that_keeps_the_old_pages_is_told_and_not_hidden(gone: LogBuilder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention_forget, "REWRITE_MS", 50)
    said(gone, MIRA, SECRET)
    with closing(sqlite3.connect(gone.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM turn").fetchone()
        proof = erase(gone, MIRA)
    assert proof.emptied is False
    assert proof.left > 0


@pytest.mark.spec("LOG-11")
def test_the_proof_finds_what_an_erasure_overlooks_and_says_where(gone: LogBuilder):
    said(gone, MIRA, SECRET)
    gone.insert("contract", hash="c", body=json.dumps({"owners": [MIRA]}), first_seen_us=1)
    gone.turn(user_id=TOM, contract_hash="c")
    proof = erase(gone, MIRA)
    assert (proof.left, proof.places) == (1, ["contract.body"])


@pytest.mark.spec("LOG-11")
def test_copies_beside_the_log_are_named(gone: LogBuilder):
    said(gone, MIRA, SECRET)
    aside = gone.path.with_name(f"{gone.path.name}.v1.bak")
    aside.write_text("an older copy")
    assert erase(gone, MIRA).beside == [aside]


@pytest.mark.spec("LOG-11")
def test_a_short_id_is_not_looked_for_in_numbers(gone: LogBuilder):
    said(gone, "3", SECRET)
    other = said(gone, TOM, "room 303 on the third floor, please")
    assert erase(gone, "3").left == 0
    assert gone.log.execute("SELECT text FROM message WHERE role = 'user'").fetchall() == [("room 303 on the third floor, please",)]  # fmt: skip
    assert gone.log.execute("SELECT turn_id FROM turn").fetchall() == [(other,)]
