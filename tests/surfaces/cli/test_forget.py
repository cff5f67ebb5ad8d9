"""`phasewalk forget`: what was erased and what the search of the bytes found, in sentences."""

import sqlite3
from contextlib import closing

import pytest
from builders import GONE, LogBuilder

from phasewalk.storage import retention_forget

MIRA = "322467610543259801"
SECRET = "my street is called Ottersgate, number forty-two"


@pytest.fixture
def spoken(builder: LogBuilder) -> str:
    """A turn of a person, of a process that is gone."""
    builder.process(pid=GONE)
    turn = builder.turn(user_id=MIRA, text=SECRET)
    builder.insert("message", turn_id=turn, channel_id="200", role="user", author_id=MIRA, author="mira", text=SECRET, at_us=1)  # fmt: skip
    builder.turn(user_id="78", text="another")
    return turn


def found(builder: LogBuilder, trace: bytes) -> bool:
    wal = builder.path.with_name(f"{builder.path.name}-wal")
    return trace in builder.path.read_bytes() + (wal.read_bytes() if wal.exists() else b"")


@pytest.mark.spec("LOG-11")
@pytest.mark.parametrize("form", [MIRA, f"@{MIRA}", f" {MIRA} "])
def test_a_person_is_erased_and_the_proof_told(builder: LogBuilder, look, spoken, form):
    answer = look("forget", "--user", form)
    assert (answer.status, answer.err) == (0, "")
    first, second = answer.lines
    assert first == "erased 1 turn, 1 message, 1 text, 0 notes, 0 facts, 0 tasks, 0 jobs"
    assert second == "proved: 3 pieces were looked for in every byte of the file and its WAL; none is there"
    assert not found(builder, b"Ottersgate")
    assert not found(builder, MIRA.encode())


@pytest.mark.spec("LOG-11", "OPS-10")
def test_a_turn_is_named_as_everywhere(builder: LogBuilder, look, spoken):
    assert look("forget", "--turn", "last~1").lines[0].startswith("erased 1 turn, 1 message, 1 text")
    assert look("show", spoken).status == 3
    answer = look("forget", "--turn", "nobody")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err.startswith("phasewalk: no turn 'nobody'; expected an id")


@pytest.mark.spec("LOG-11")
def test_a_dry_run_erases_nothing(builder: LogBuilder, look, spoken):
    for options in (["--user", MIRA], ["--turn", spoken]):
        answer = look("forget", *options, "--dry-run")
        assert (answer.status, answer.out) == (
            0,
            "would erase 1 turn, 1 message, 1 text, 0 notes, 0 facts, 0 tasks, 0 jobs\n",
        )
    assert found(builder, b"Ottersgate")
    assert builder.log.execute("SELECT count(*) FROM operator_action").fetchone() == (0,)


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("options", [[], ["--dry-run"]], ids=str)
def test_an_unknown_person_is_status_3(builder: LogBuilder, look, spoken, options):
    answer = look("forget", "--user", "999", *options)
    assert (answer.status, answer.out) == (3, "")
    assert answer.err.startswith("phasewalk: nobody with the id '999' is in the log; expected an id, as ")


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "one of --user ID and --turn TURN is expected"),
        (["--user", MIRA, "--turn", "last"], "one of --user ID and --turn TURN is expected"),
        (["--user", " "], "--user: an id is expected"),
        (["--user", "@"], "--user: an id is expected"),
    ],
    ids=str,
)
def test_wrong_input_is_status_2_and_erases_nothing(builder: LogBuilder, look, spoken, options, sentence):
    answer = look("forget", *options)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert found(builder, b"Ottersgate")


@pytest.mark.spec("LOG-11", "OPS-13")
def test_a_process_in_the_way_is_one_sentence_and_status_4(builder: LogBuilder, look):
    builder.turn(user_id=MIRA, text=SECRET)
    answer = look("forget", "--user", MIRA)
    assert (answer.status, answer.out) == (4, "")
    assert answer.err.endswith("(bot) may still refer to 1 of these texts; restart it first\n")


@pytest.mark.spec("LOG-11", "OPS-13")
def test_what_is_still_there_is_status_5(builder: LogBuilder, look, spoken, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention_forget, "REWRITE_MS", 50)
    with closing(sqlite3.connect(builder.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM turn").fetchone()
        answer = look("forget", "--user", MIRA)
    assert answer.status == 5
    assert "the file could not be written anew: another process reads it" in answer.out
    assert "still there: 3 of 3 pieces that were looked for, in free pages or the WAL" in answer.out


@pytest.mark.spec("LOG-11", "OPS-13")
def test_what_an_erasure_overlooked_is_named(builder: LogBuilder, look, spoken):
    builder.insert("contract", hash="c", body=f'{{"owners":["{MIRA}"]}}', first_seen_us=1)
    builder.turn(user_id="78", contract_hash="c")
    answer = look("forget", "--user", MIRA)
    assert answer.status == 5
    assert "still there: 1 of 3 pieces that were looked for, in contract.body" in answer.out


@pytest.mark.spec("LOG-11")
def test_copies_are_named(builder: LogBuilder, look, spoken):
    builder.path.with_name(f"{builder.path.name}.v1.bak").write_text("older")
    assert look("forget", "--user", MIRA).lines[-1] == "not touched, and perhaps copies: phasewalk.db.v1.bak"


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("options", [["--user", MIRA], ["--turn", "last"], ["--user", MIRA, "--dry-run"]], ids=str)
def test_without_a_log_there_is_one_sentence(process, tmp_path, options):
    answer = process("forget", *options, path=tmp_path / "missing.db")
    assert (answer.status, answer.out, len(answer.err.splitlines())) == (4, "", 1)
