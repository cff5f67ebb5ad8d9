"""Forgetting beside a process that runs and takes care: it is not in the way, and loses nothing (LOG-11, DIS-10)."""

import pytest
from builders import LogBuilder

from phasewalk.machine.documents import payload_of
from phasewalk.storage import retention_forget
from phasewalk.storage.backup import InUseError
from phasewalk.storage.phase_log import SqlitePhaseLog
from phasewalk.storage.retention_forget import ERASED, forget

MIRA, TOM = "322467610543259801", "650371854342553753"
SECRET = "my street is called Ottersgate, number forty-two"


def said(builder: LogBuilder, user: str, text: str) -> str:
    turn = builder.turn(user_id=user, text=text, text_digest=builder.payload(text))
    message = {"turn_id": turn, "channel_id": "200", "at_us": 1}
    builder.insert("message", **message, role="user", author_id=user, author="somebody", text=text)
    return turn


@pytest.mark.spec("LOG-11", "DIS-10")
def test_a_process_that_takes_care_is_not_in_the_way_and_another_one_is(builder: LogBuilder):
    careful = builder.process()
    said(builder, MIRA, SECRET)
    with pytest.raises(InUseError, match="restart it first"):
        forget(builder.path, MIRA, "", "eve")
    with pytest.raises(InUseError, match="restart it first"):
        forget(builder.path, MIRA, "", "eve", careful + 1)
    _, proof = forget(builder.path, MIRA, "", "eve", careful)
    assert proof is not None
    assert (proof.left, proof.emptied) == (0, True)


@pytest.mark.spec("LOG-11", "DIS-10")
def test_a_turn_that_runs_is_in_the_way_of_the_careful_too(builder: LogBuilder):
    careful = builder.process()
    builder.turn(user_id=MIRA, outcome=None, phase="classify")
    with pytest.raises(InUseError, match="wait until it has ended"):
        forget(builder.path, MIRA, "", "eve", careful)


@pytest.mark.spec("LOG-11", "DIS-10")
def test_a_text_that_somebody_uses_meanwhile_stays(builder: LogBuilder, monkeypatch):
    careful = builder.process()
    said(builder, MIRA, SECRET)
    delete = retention_forget.delete_turns

    def meanwhile(log, turns):
        count = delete(log, turns)
        text = payload_of(SECRET).digest
        log.execute("UPDATE turn SET text_digest = ? WHERE user_id = ?", (text, TOM))
        return count

    builder.turn(user_id=TOM, outcome=None, phase="classify")
    monkeypatch.setattr(retention_forget, "delete_turns", meanwhile)
    forget(builder.path, MIRA, "", "eve", careful)
    assert builder.log.execute(
        "SELECT count(*) FROM payload WHERE digest = ?", (payload_of(SECRET).digest,)
    ).fetchone() == (1,)


@pytest.mark.spec("LOG-11", "DIS-10")
def test_a_row_that_somebody_changes_meanwhile_keeps_the_change_and_loses_the_words(builder: LogBuilder, monkeypatch):
    careful = builder.process()
    said(builder, MIRA, SECRET)
    builder.insert("note", user_id=TOM, channel_id="200", text=f"old: {SECRET}", at_us=1)
    changed, done = retention_forget._changed, []

    def meanwhile(log, update, rows):
        if "UPDATE note" in update and not done:
            done.append(log.execute("UPDATE note SET text = ?", (f"new: {SECRET}",)))
        return changed(log, update, rows)

    monkeypatch.setattr(retention_forget, "_changed", meanwhile)
    forget(builder.path, MIRA, "", "eve", careful)
    assert builder.log.execute("SELECT text FROM note").fetchall() == [(f"new: {ERASED}",)]


@pytest.mark.spec("LOG-11", "DIS-10")
def test_a_large_file_is_not_written_anew_beside_somebody_who_writes_and_that_is_told(builder: LogBuilder, monkeypatch):
    careful = builder.process()
    said(builder, MIRA, SECRET)
    monkeypatch.setattr(retention_forget, "REWRITTEN_LIVE", 1000)
    _, proof = forget(builder.path, MIRA, "", "eve", careful)
    assert proof is not None
    assert (proof.left, proof.emptied) == (0, False)


@pytest.mark.spec("LOG-11", "DIS-10")
async def test_within_the_block_each_reference_stores_its_text(log):
    turn = await log.turn("a", log.exited(2, "received", "admitted", "T01", "classify"))
    assert turn is not None
    assert isinstance(log.log, SqlitePhaseLog)
    async with log.log.storing_anew():
        await log.turn("b")
        log.other().execute("DELETE FROM payload").connection.close()
        await log.turn("c")
        assert log.rows("SELECT count(*) FROM payload") == [(1,)]
    log.other().execute("DELETE FROM payload").connection.close()
    await log.turn("d")
    assert log.rows("SELECT count(*) FROM payload") == [(1,)], "what was stored in the block is not remembered after it"
