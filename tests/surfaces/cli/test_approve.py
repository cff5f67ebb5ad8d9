"""`phasewalk approve`: which tool calls wait for a permission, and permitting one of them."""

import getpass
import json
import re
import sqlite3

import pytest
from builders import LogBuilder

from phasewalk.storage import operators

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def waiting(builder: LogBuilder, name: str = "7KQ2MX", *, age: float = 60, **columns: object) -> str:
    """A call of mira's that waits for a permission; the id of its turn."""
    turn = builder.turn(age=age)
    values = {
        "approval_id": name, "turn_id": turn, "tool": "role_add", "arguments": '{"role":"guide"}',
        "arguments_digest": "d", "user_id": "77", "user_name": "mira", "channel_id": "200", "asked_us": builder.at(age),
    }  # fmt: skip
    builder.insert("approval", **{**values, **columns})
    return turn


def permitted(builder: LogBuilder, name: str, **columns: object) -> str:
    return waiting(builder, name, approved_us=builder.at(30), approved_by="eve", **columns)


def audit(builder: LogBuilder) -> list[tuple]:
    return builder.log.execute("SELECT who, what, target, before, after FROM operator_action").fetchall()


def states(builder: LogBuilder) -> list[tuple]:
    query = "SELECT approval_id, approved_us IS NOT NULL FROM approval ORDER BY approval_id"
    return builder.log.execute(query).fetchall()


@pytest.mark.spec("OPS-13", "CON-26")
def test_where_nothing_waits_it_is_said_what_the_log_covers(builder: LogBuilder, look):
    builder.turn()
    answer = look("approve", "--utc")
    assert (answer.status, answer.err) == (0, "")
    covered = f"the log covers 1 turn from {TIME} to {TIME} UTC"
    assert re.fullmatch(f"no call waits for a permission; {covered}\n", answer.out)
    assert (look("approve", "--json").items, look("approve", "--jsonl").out) == ([], "")


@pytest.mark.spec("OPS-13")
def test_an_empty_log_says_so(look):
    assert look("approve").out == "no call waits for a permission; the log holds no turns\n"


@pytest.mark.spec("CON-26", "OPS-14")
def test_a_waiting_call_is_told_with_what_for_whom_and_what_to_type_next(builder: LogBuilder, look):
    turn = waiting(builder)
    head, call, who, following, zone = look("approve", "--utc").lines
    assert (head, call) == ("7KQ2MX  waiting", '  role_add {"role":"guide"}')
    assert re.fullmatch(rf"  for mira, asked {TIME} \(1 min( \d+ s)? ago\), in turn {turn}", who)
    assert (following, zone) == ("  next: phasewalk approve 7KQ2MX", "times: UTC")


@pytest.mark.spec("CON-26")
def test_a_permission_that_nobody_used_yet_names_who_gave_it(builder: LogBuilder, look):
    permitted(builder, "7KQ2MX")
    lines = look("approve").lines
    assert lines[0] == "7KQ2MX  permitted"
    assert lines[3] == "  permitted by eve; used when mira asks again"


@pytest.mark.spec("CON-26")
def test_a_permission_that_was_used_is_not_listed(builder: LogBuilder, look):
    turn = builder.turn()
    permitted(builder, "7KQ2MX", used_us=builder.at(10), used_turn_id=turn)
    assert look("approve", "--json").items == []


@pytest.mark.spec("CON-26")
def test_a_person_without_a_name_is_told_by_the_id(builder: LogBuilder, look):
    waiting(builder, user_name="")
    assert look("approve").lines[2].startswith("  for 77, asked ")


@pytest.mark.spec("CON-26")
def test_what_waits_longest_comes_first(builder: LogBuilder, look):
    for name, age in (("BBBBBB", 60), ("AAAAAA", 30), ("CCCCCC", 90)):
        waiting(builder, name, age=age)
    assert [item["approval_id"] for item in look("approve", "--json").items] == ["CCCCCC", "BBBBBB", "AAAAAA"]


@pytest.mark.spec("OPS-14")
def test_all_keys_stand_in_every_item(builder: LogBuilder, look):
    waiting(builder, "AAAAAA", age=90)
    permitted(builder, "BBBBBB")
    items = look("approve", "--json").items
    keys = ["approval_id", "tool", "arguments", "user_id", "user_name", "channel_id", "turn_id", "asked_us", "asked",
            "approved_us", "approved_by", "state"]  # fmt: skip
    assert [list(item) for item in items] == [keys, keys]
    assert [(item["state"], item["approved_by"]) for item in items] == [("waiting", None), ("permitted", "eve")]


@pytest.mark.spec("OPS-14")
def test_one_line_a_call_for_programs(builder: LogBuilder, look):
    waiting(builder, "AAAAAA", age=90)
    waiting(builder, "BBBBBB")
    lines = look("approve", "--jsonl").lines
    assert [json.loads(line)["approval_id"] for line in lines] == ["AAAAAA", "BBBBBB"]


@pytest.mark.spec("OPS-14")
def test_arguments_that_could_move_the_cursor_are_shown_by_their_numbers(builder: LogBuilder, look):
    waiting(builder, arguments='{"role":"\x1b[2J\u202e"}')
    assert look("approve").lines[1] == r'  role_add {"role":"\x1b[2J\u202e"}'


@pytest.mark.spec("CON-26", "LOG-15")
def test_permitting_shows_the_call_and_writes_down_who_permitted_what_to_whom(builder: LogBuilder, look):
    waiting(builder)
    answer = look("approve", "7KQ2MX", "--json")
    assert answer.status == 0
    assert [(i["approval_id"], i["state"], i["approved_by"]) for i in answer.items] == [
        ("7KQ2MX", "permitted", getpass.getuser()),
    ]  # fmt: skip
    assert audit(builder) == [
        (getpass.getuser(), "permit a call", "7KQ2MX", '"waiting"', '{"tool":"role_add","user_id":"77"}'),
    ]  # fmt: skip


@pytest.mark.spec("CON-26")
def test_permitting_one_call_leaves_and_shows_no_other(builder: LogBuilder, look):
    waiting(builder, "AAAAAA")
    waiting(builder, "BBBBBB")
    assert [item["approval_id"] for item in look("approve", "BBBBBB", "--json").items] == ["BBBBBB"]
    assert states(builder) == [("AAAAAA", 0), ("BBBBBB", 1)]


@pytest.mark.spec("CON-26")
@pytest.mark.parametrize("typed", ["7kq2mx", " 7KQ2MX ", "7Kq2mX"])
def test_an_id_may_be_typed_in_small_letters_and_with_blanks_around_it(builder: LogBuilder, look, typed):
    waiting(builder)
    assert look("approve", typed).lines[0] == "7KQ2MX  permitted"


@pytest.mark.spec("CON-26", "LOG-15", "OPS-13")
def test_an_unknown_id_is_one_sentence_with_those_that_wait_and_nothing_is_written(builder: LogBuilder, look):
    waiting(builder, "AAAAAA", age=90)
    waiting(builder, "BBBBBB", age=60)
    permitted(builder, "CCCCCC", age=30)
    answer = look("approve", "zzzzzz")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err == "phasewalk: no call 'ZZZZZZ' waits for a permission; those that wait: AAAAAA, BBBBBB\n"
    assert audit(builder) == []


@pytest.mark.spec("CON-26", "OPS-13")
def test_where_nothing_waits_there_is_nothing_to_permit(look):
    answer = look("approve", "7KQ2MX")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err == "phasewalk: no call '7KQ2MX' waits for a permission; those that wait: none\n"


@pytest.mark.spec("CON-26", "LOG-15")
def test_permitting_twice_is_one_sentence_and_one_audit_row(builder: LogBuilder, look):
    waiting(builder)
    look("approve", "7KQ2MX")
    answer = look("approve", "7KQ2MX")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err == "phasewalk: no call '7KQ2MX' waits for a permission; it is permitted already\n"
    assert len(audit(builder)) == 1


@pytest.mark.spec("CON-26")
def test_a_permission_that_was_used_cannot_be_given_again(builder: LogBuilder, look):
    permitted(builder, "7KQ2MX", used_us=builder.at(10), used_turn_id=builder.turn())
    assert look("approve", "7KQ2MX").status == 3
    assert audit(builder) == []


@pytest.mark.spec("OPS-14")
def test_an_id_that_could_move_the_cursor_is_shown_by_its_numbers(look):
    assert r"no call 'A\x1b[2JB'" in look("approve", "A\x1b[2JB").err


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("arguments", [["approve"], ["approve", "--json"], ["approve", "7KQ2MX"]], ids=str)
def test_without_a_log_there_is_one_sentence_and_no_file_is_made(process, tmp_path, arguments):
    missing = tmp_path / "missing.db"
    answer = process(*arguments, path=missing)
    assert (answer.status, answer.out) == (4, "")
    assert answer.err.startswith(f"phasewalk: {missing}: no such file; ")
    assert len(answer.err.splitlines()) == 1
    assert not missing.exists()


@pytest.mark.spec("OPS-13", "LOG-15")
def test_a_log_that_stays_locked_is_one_sentence_and_nothing_is_permitted(
    builder: LogBuilder, look, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(operators, "PATIENCE_MS", 20)
    waiting(builder)
    builder.log.execute("BEGIN IMMEDIATE")
    answer = look("approve", "7KQ2MX")
    builder.log.execute("ROLLBACK")
    assert (answer.status, answer.out) == (4, "")
    assert answer.err == f"phasewalk: {builder.path}: cannot be changed (database is locked)\n"
    assert states(builder) == [("7KQ2MX", 0)]


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--json", "--jsonl"], "ask for one"),
        (["--utc", "--tz", "Europe/Berlin"], "ask for one"),
        (["7KQ2MX", "--json", "--jsonl"], "ask for one"),
        (["7KQ2MX", "BBBBBB"], "unexpected extra argument (BBBBBB)"),
    ],
    ids=str,
)
def test_a_wrong_option_is_status_2_and_permits_nothing(builder: LogBuilder, look, options, sentence):
    waiting(builder)
    answer = look("approve", *options)
    assert (answer.status, answer.out) == (2, "")
    assert sentence in answer.err
    assert states(builder) == [("7KQ2MX", 0)]


@pytest.mark.spec("OPS-16")
def test_help_ends_with_examples_and_exit_codes(look):
    text = look("approve", "--help").out
    assert "phasewalk approve 7KQ2MX" in text
    assert text.rstrip().endswith("Exit codes: 0 ok, 2 usage, 3 no call of this id waits, 4 the log cannot be used.")


@pytest.mark.spec("CON-26")
def test_a_call_permitted_by_a_real_process_is_permitted_in_the_file(builder: LogBuilder, process):
    waiting(builder)
    answer = process("approve", "7KQ2MX")
    assert (answer.status, answer.err, answer.lines[0]) == (0, "", "7KQ2MX  permitted")
    with sqlite3.connect(builder.path) as connection:
        assert connection.execute("SELECT count(*) FROM approval WHERE approved_us > 0").fetchone() == (1,)
    connection.close()
