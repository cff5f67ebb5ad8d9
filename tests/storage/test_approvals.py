"""Tool calls that wait for a permission: asked once, permitted exactly, used up once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from phasewalk.machine.redaction import Redactor
from phasewalk.machine.tooling import ApprovalCall
from phasewalk.storage.approvals import SqliteApprovals, approve
from phasewalk.storage.queries import open_approvals

CALL = {
    "turn_id": "turn-1", "tool": "role_add", "arguments": '{"role":"guide","user":"tom"}', "user_id": "77",
    "user_name": "mira", "channel_id": "200", "now_us": 1_000_000,
}  # fmt: skip


def call(**changes: object) -> ApprovalCall:
    return ApprovalCall(**{**CALL, **changes})


def permit(log, approval_id: str, who: str = "root") -> bool:
    with closing(log.other()) as connection:
        return approve(connection, approval_id, who, 2_000_000)


@pytest.fixture
async def approvals(log) -> SqliteApprovals:
    """Of a log with the turns that calls and permissions refer to."""
    for number in (1, 2, 3):
        await log.turn(f"turn-{number}")
    return SqliteApprovals(log.writer, Redactor())


@pytest.fixture
async def others(log, another, approvals: SqliteApprovals) -> AsyncIterator[SqliteApprovals]:
    """The same file through connections of its own, as another process has it."""
    second = await another(log.path).start()
    yield SqliteApprovals(second.writer, Redactor())
    await second.close()


@pytest.mark.spec("CON-26")
async def test_a_call_that_asks_is_listed_with_who_asks_for_what(log, approvals: SqliteApprovals):
    name = await approvals.ask(call())
    (row,) = open_approvals(log.reader)
    assert row == {
        "approval_id": name,
        "tool": "role_add",
        "arguments": '{"role":"guide","user":"tom"}',
        "user_id": "77",
        "user_name": "mira",
        "channel_id": "200",
        "turn_id": "turn-1",
        "asked_us": 1_000_000,
        "asked": "1970-01-01T00:00:01.000Z",
        "approved_us": None,
        "approved_by": None,
        "state": "waiting",
    }


@pytest.mark.spec("CON-26")
async def test_an_id_is_of_six_characters_that_nobody_mixes_up(approvals: SqliteApprovals):
    names = [await approvals.ask(call(user_id=str(number))) for number in range(40)]
    assert {len(name) for name in names} == {6}
    assert not set("".join(names)) & set("01OIabcdefghijklmnopqrstuvwxyz")


@pytest.mark.spec("CON-26")
async def test_the_same_call_asked_again_is_listed_once_under_its_first_id(log, approvals: SqliteApprovals):
    first = await approvals.ask(call())
    again = await approvals.ask(call(turn_id="turn-2", now_us=5_000_000))
    assert again == first
    assert [(row["approval_id"], row["asked_us"]) for row in open_approvals(log.reader)] == [(first, 1_000_000)]


@pytest.mark.spec("CON-26")
async def test_two_processes_that_ask_for_the_same_call_at_once_get_one_id(
    log, approvals: SqliteApprovals, others: SqliteApprovals
):
    one, two = await asyncio.gather(approvals.ask(call()), others.ask(call(turn_id="turn-2")))
    assert one == two
    assert len(open_approvals(log.reader)) == 1


OTHER_CALLS = {
    "another tool": {"tool": "role_remove"},
    "other arguments": {"arguments": '{"role":"admin","user":"tom"}'},
    "another person": {"user_id": "78"},
}


@pytest.mark.spec("CON-26")
@pytest.mark.parametrize("changes", OTHER_CALLS.values(), ids=OTHER_CALLS)
async def test_another_call_is_asked_for_on_its_own(log, approvals: SqliteApprovals, changes):
    assert await approvals.ask(call()) != await approvals.ask(call(**changes))
    assert len(open_approvals(log.reader)) == 2


@pytest.mark.spec("CON-26")
@pytest.mark.parametrize("changes", OTHER_CALLS.values(), ids=OTHER_CALLS)
async def test_a_permission_is_for_nothing_but_its_call(log, approvals: SqliteApprovals, changes):
    permit(log, await approvals.ask(call()))
    assert await approvals.take(call(turn_id="turn-2", **changes)) is False
    assert await approvals.take(call(turn_id="turn-2")) is True


@pytest.mark.spec("CON-26")
async def test_a_call_that_only_waits_is_not_permitted(approvals: SqliteApprovals):
    await approvals.ask(call())
    assert await approvals.take(call(turn_id="turn-2")) is False


@pytest.mark.spec("CON-26")
async def test_a_permission_serves_its_person_in_any_channel_and_under_any_name(log, approvals: SqliteApprovals):
    permit(log, await approvals.ask(call()))
    assert await approvals.take(call(turn_id="turn-2", channel_id="300", user_name="Mira the Great")) is True


@pytest.mark.spec("CON-26")
async def test_a_permission_is_used_once_and_it_is_kept_when_and_by_which_turn(log, approvals: SqliteApprovals):
    permit(log, await approvals.ask(call()))
    assert await approvals.take(call(turn_id="turn-2", now_us=3_000_000)) is True
    assert await approvals.take(call(turn_id="turn-3", now_us=4_000_000)) is False
    assert log.rows("SELECT turn_id, used_us, used_turn_id FROM approval") == [("turn-1", 3_000_000, "turn-2")]
    assert open_approvals(log.reader) == []


@pytest.mark.spec("CON-26")
async def test_of_two_turns_that_race_for_one_permission_one_gets_it(log, approvals: SqliteApprovals):
    permit(log, await approvals.ask(call()))
    taken = await asyncio.gather(*(approvals.take(call(turn_id=f"turn-{number}")) for number in (2, 3)))
    assert sorted(taken) == [False, True]


@pytest.mark.spec("CON-26")
async def test_of_two_processes_that_race_for_one_permission_one_gets_it(
    log, approvals: SqliteApprovals, others: SqliteApprovals
):
    permit(log, await approvals.ask(call()))
    taken = await asyncio.gather(approvals.take(call(turn_id="turn-2")), others.take(call(turn_id="turn-3")))
    assert sorted(taken) == [False, True]


@pytest.mark.spec("CON-26")
async def test_after_a_permission_was_used_the_same_call_has_to_ask_anew(log, approvals: SqliteApprovals):
    used = await approvals.ask(call())
    permit(log, used)
    await approvals.take(call(turn_id="turn-2"))
    anew = await approvals.ask(call(turn_id="turn-3"))
    assert anew != used
    assert [(row["approval_id"], row["state"]) for row in open_approvals(log.reader)] == [(anew, "waiting")]


@pytest.mark.spec("CON-26")
async def test_permitting_writes_down_who_did_it_and_when(log, approvals: SqliteApprovals):
    name = await approvals.ask(call())
    assert permit(log, name, who="eve") is True
    (row,) = open_approvals(log.reader)
    assert (row["state"], row["approved_by"], row["approved_us"]) == ("permitted", "eve", 2_000_000)


@pytest.mark.spec("CON-26")
async def test_permitting_twice_changes_nothing(log, approvals: SqliteApprovals):
    name = await approvals.ask(call())
    permit(log, name, who="eve")
    assert permit(log, name, who="mallory") is False
    assert log.rows("SELECT approved_by FROM approval") == [("eve",)]


@pytest.mark.spec("CON-26")
async def test_permitting_one_call_leaves_the_others_waiting(log, approvals: SqliteApprovals):
    name, other = await approvals.ask(call()), await approvals.ask(call(user_id="78", now_us=1_500_000))
    permit(log, other)
    assert [(row["approval_id"], row["state"]) for row in open_approvals(log.reader)] == [
        (name, "waiting"),
        (other, "permitted"),
    ]


@pytest.mark.spec("CON-26")
@pytest.mark.parametrize("name", ["ZZZZZZ", "", "%", "role_add"])
async def test_an_id_that_nobody_was_given_permits_nothing(log, approvals: SqliteApprovals, name):
    await approvals.ask(call())
    assert permit(log, name) is False
    assert [row["state"] for row in open_approvals(log.reader)] == ["waiting"]


@pytest.mark.spec("CON-26", "LOG-10")
async def test_secrets_are_taken_out_of_the_arguments_that_are_listed(log, approvals: SqliteApprovals):
    await approvals.ask(call(arguments='{"token":"abc123def456","user":"tom"}'))
    assert open_approvals(log.reader)[0]["arguments"] == '{"token":"[redacted]","user":"tom"}'


@pytest.mark.spec("CON-26", "LOG-10")
async def test_secrets_are_taken_out_of_the_name_of_who_asks(log, approvals: SqliteApprovals):
    await approvals.ask(call(user_name="mira sk-0123456789abcdefghij"))
    assert open_approvals(log.reader)[0]["user_name"] == "mira [redacted]"


@pytest.mark.spec("CON-26", "LOG-10")
async def test_calls_that_differ_in_a_secret_alone_are_different_calls(log, approvals: SqliteApprovals):
    mine, other = call(arguments='{"token":"abc123def456"}'), call(arguments='{"token":"abc123def999"}')
    permit(log, await approvals.ask(mine))
    assert await approvals.take(other) is False
    assert await approvals.take(mine) is True


@pytest.mark.spec("LOG-05")
async def test_a_call_with_characters_that_cannot_be_stored_is_asked_for_and_permitted_all_the_same(
    log, approvals: SqliteApprovals
):
    odd = call(arguments='{"text":"a\ud800"}', user_name="mi\x00ra")
    permit(log, await approvals.ask(odd))
    (row,) = open_approvals(log.reader)
    assert (row["arguments"], row["user_name"]) == ('{"text":"a\ufffd"}', "mi\ufffdra")
    assert await approvals.take(odd) is True


@pytest.mark.spec("CON-26")
async def test_arguments_that_differ_in_what_cannot_be_stored_are_different_arguments(log):
    await log.turn("turn-1")
    approvals = SqliteApprovals(log.writer, Redactor())
    name = await approvals.ask(ApprovalCall("turn-1", "role_add", '{"role":"a?"}', "77", "ann", "200", 10))
    with closing(log.other()) as connection:
        approve(connection, name, "eve", 20)
    assert (
        await approvals.take(ApprovalCall("turn-1", "role_add", '{"role":"a\ud800"}', "77", "ann", "200", 30)) is False
    )
