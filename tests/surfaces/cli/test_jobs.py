"""`phasewalk jobs`: what runs by itself and when, and changing that."""

import getpass
import json
import re
import time
from datetime import UTC, datetime

import pytest
from builders import LogBuilder

from phasewalk.storage.retention_forget import forget

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
DAILY = ("--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--channel", "204", "--user", "77")
TOMORROW = datetime.fromtimestamp(time.time() + 86_400, UTC).isoformat()


@pytest.fixture
def add(look):
    """Make a job that must be right."""

    def added(name: str = "daily", *options: str, text: str = "show my notes") -> str:
        answer = look("jobs", "add", name, *(options or DAILY), text)
        assert (answer.status, answer.err) == (0, "")
        return answer.out

    return added


def jobs(builder: LogBuilder, columns: str) -> list[tuple]:
    return builder.log.execute(f"SELECT {columns} FROM job ORDER BY name").fetchall()


def audit(builder: LogBuilder) -> list[tuple]:
    return builder.log.execute("SELECT who, what, target FROM operator_action ORDER BY action_id").fetchall()


@pytest.mark.spec("TURN-17", "LOG-15")
def test_a_recurring_job_is_kept_with_what_its_turns_may_use_and_an_audit_row(builder: LogBuilder, add):
    said = add()
    assert re.fullmatch(f"added daily: due {TIME} .*, with notes\n", said)
    columns = "kind, cron, zone, state, channel_id, user_id, text, families, created_by, due_us > created_us"
    assert jobs(builder, columns) == [
        (
            "recurring",
            "30 2 * * *",
            "Europe/Berlin",
            "active",
            "204",
            "77",
            "show my notes",
            '["notes"]',
            getpass.getuser(),
            1,
        )
    ]
    assert audit(builder) == [(getpass.getuser(), "add a job", "daily")]
    before, after = builder.log.execute("SELECT before, after FROM operator_action").fetchone()
    assert (json.loads(before), json.loads(after)["families"]) == (None, ["notes"])


@pytest.mark.spec("TURN-17")
def test_a_one_off_job_at_a_local_time_is_due_then(builder: LogBuilder, add):
    add(
        "party", "--at", "2037-12-31 23:55", "--zone", "Europe/Berlin", "--channel", "204", "--user", "77", text="Luck!"
    )
    assert jobs(builder, "kind, cron, due, families") == [("one_off", "", "2037-12-31T22:55:00.000Z", "[]")]


@pytest.mark.spec("TURN-17")
def test_families_that_are_named_stand_in_the_place_of_those_of_the_text(builder: LogBuilder, add):
    add("daily", *DAILY, "--family", "tasks", "--family", "memory")
    assert jobs(builder, "families") == [('["tasks","memory"]',)]


@pytest.mark.spec("TURN-17")
def test_names_and_server_are_taken_from_the_log_unless_they_are_given(builder: LogBuilder, add):
    builder.insert("channel_cursor", channel_id="204", guild_id="9", channel_name="help", message_id="1", at_us=1)
    builder.turn(user_id="77", user_name="mira")
    add()
    add("other", *DAILY, "--channel-name", "#lounge", "--user-name", "ann", "--guild", "8")
    assert jobs(builder, "channel_name, guild_id, user_name") == [("help", "9", "mira"), ("lounge", "8", "ann")]


@pytest.mark.spec("TURN-17", "OPS-13", "LOG-15")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["daily", *DAILY, "again"], "a job is called 'daily' already; remove it first, or take another name"),
        (["Bad name", *DAILY, "x"], "'Bad name' is no name for a job; expected a-z, 0-9, - and _, 40 at most, and not 'task' with a number"),
        (["task7", *DAILY, "x"], "'task7' is no name for a job; expected a-z, 0-9, - and _, 40 at most, and not 'task' with a number"),
        (["new", *DAILY, " "], "the text is empty; a job says something to the bot"),
        (["new", *DAILY, "--family", "nots", "x"], "there is no family 'nots'; did you mean 'notes'?"),
        (["new", *DAILY, "--zone", "Mars/Base", "x"], "'Mars/Base' is no time zone; expected one such as Europe/Berlin or UTC"),
        (["new", *DAILY, "--cron", "61 * * * *", "x"], "'61 * * * *' is no cron expression: bad minute; expected such as '30 2 * * *'"),
        (["new", *DAILY, "--at", TOMORROW, "x"], "a job has either --cron EXPR or --at TIME"),
        (["new", "--channel", "204", "--user", "77", "x"], "a job has either --cron EXPR or --at TIME"),
        (["new", "--at", "2026-01-01", "--channel", "204", "--user", "77", "x"], "'2026-01-01' in UTC has passed; expected a time to come"),
        (["new", "--at", "soon", "--channel", "204", "--user", "77", "x"], "'soon' is no time; expected such as 2026-12-31 23:55"),
        (["new", *DAILY, "--channel", "#help", "x"], "--channel '#help' is no id; expected digits, as Discord numbers it"),
        (["new", *DAILY, "--user", "mira", "x"], "--user 'mira' is no id; expected digits, as Discord numbers it"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_and_nothing_is_written(builder: LogBuilder, look, add, arguments, sentence):
    add()
    answer = look("jobs", "add", *arguments)
    assert (answer.status, answer.out, answer.err) == (2, "", f"phasewalk: {sentence}\n")
    assert (len(jobs(builder, "name")), len(audit(builder))) == (1, 1)


@pytest.mark.spec("TURN-17", "OPS-14")
def test_jobs_are_listed_with_when_where_for_whom_and_with_what_the_next_first(builder: LogBuilder, look, add):
    add()
    add("party", "--at", TOMORROW, "--channel", "204", "--channel-name", "help", "--user", "77", text="Luck!")
    builder.log.execute("UPDATE job SET last_due_us = ?, missed = 3, missed_us = ? WHERE name = 'daily'", (builder.at(60), builder.at(30)))  # fmt: skip
    builder.log.execute("UPDATE job SET due_us = ? WHERE name = 'daily'", (builder.at(-7200),))
    lines = look("jobs", "--utc").lines
    assert re.fullmatch(rf"daily  active, due {TIME} \(in 1 h 59 min|.*\)", lines[0])
    assert lines[1] == "  30 2 * * * Europe/Berlin, in #204 for 77, with notes"
    assert re.fullmatch(rf"  last due {TIME} \(1 min.* ago\)", lines[2])
    assert re.fullmatch(rf"  missed 3, noted {TIME} \(3\d s ago\)", lines[3])
    assert lines[4].startswith("party  active, due ")
    assert lines[5:] == ["  once, in #help for 77, with no tools", "times: UTC"]


@pytest.mark.spec("TURN-17", "OPS-14")
def test_every_item_has_the_same_keys_for_programs(look, add):
    add()
    add("party", "--at", TOMORROW, "--channel", "204", "--user", "77", text="Luck!")
    items = look("jobs", "--json").items
    assert [item["families"] for item in items] in ([["notes"], []], [[], ["notes"]])
    assert list(items[0]) == list(items[1])
    assert sorted(json.loads(line)["name"] for line in look("jobs", "--jsonl").lines) == ["daily", "party"]


@pytest.mark.spec("TURN-17", "OPS-13")
def test_without_jobs_that_is_said(look):
    assert look("jobs").out == "no jobs; phasewalk jobs add --help tells how one is made\n"
    assert look("jobs", "--json").items == []


@pytest.mark.spec("TURN-17")
def test_one_job_is_shown_with_its_text_its_next_five_due_times_and_its_last_runs(builder: LogBuilder, look, add):
    add()
    for n in range(7):
        builder.turn(age=600 - n, kind="scheduled", trigger_key=f"schedule:daily:{n}")
    other = builder.turn(kind="scheduled", trigger_key="schedule:daily2:1")
    builder.log.execute(
        "UPDATE job SET due_us = ?", (1_792_888_200_000_000,)
    )  # 2026-10-25 02:30 in Berlin, summer time
    lines = look("jobs", "show", "daily", "--utc").lines
    assert "  says: show my notes" in lines
    assert [line for line in lines if line.startswith("  due ")] == [
        "  due 2026-10-25 00:30:00", "  due 2026-10-26 01:30:00", "  due 2026-10-27 01:30:00",
        "  due 2026-10-28 01:30:00", "  due 2026-10-29 01:30:00",
    ]  # fmt: skip
    ran = [line for line in lines if line.startswith("  ran ")]
    assert len(ran) == 5
    assert re.fullmatch(rf"  ran {TIME}: answered, ok; phasewalk show \w+", ran[0])
    assert other not in "".join(lines)
    shown = json.loads(look("jobs", "show", "daily", "--json").out)
    assert (shown["name"], len(shown["coming"]), len(shown["runs"])) == ("daily", 5, 5)
    assert shown["coming"][0] == "2026-10-25T00:30:00.000000Z"


@pytest.mark.spec("TURN-17", "LOG-15")
def test_a_job_is_paused_resumed_and_removed_each_with_an_audit_row(builder: LogBuilder, look, add):
    add()
    builder.log.execute("UPDATE job SET due_us = ?, owed_us = ?", (builder.at(3600), builder.at(3600)))
    assert look("jobs", "pause", "daily").out == "paused daily\n"
    assert jobs(builder, "state, owed_us") == [("paused", None)]
    assert look("jobs", "resume", "daily").out == "resumed daily\n"
    ((state, due_us),) = jobs(builder, "state, due_us")
    assert (state, due_us > builder.now_us) == ("active", True)  # what passed meanwhile is not made up for
    assert look("jobs", "remove", "daily").out == "removed daily\n"
    assert jobs(builder, "name") == []
    assert [what for _, what, _ in audit(builder)] == ["add a job", "pause a job", "resume a job", "remove a job"]


@pytest.mark.spec("TURN-17", "LOG-15")
def test_what_is_so_already_is_told_and_not_written_down(builder: LogBuilder, look, add):
    add()
    answer = look("jobs", "resume", "daily")
    assert (answer.status, answer.out, answer.err) == (0, "", "'daily' is active already\n")
    look("jobs", "pause", "daily")
    assert look("jobs", "pause", "daily").err == "'daily' is paused already\n"
    assert len(audit(builder)) == 2


@pytest.mark.spec("TURN-17", "OPS-13")
def test_a_one_off_job_whose_time_has_passed_is_not_resumed(builder: LogBuilder, look, add):
    add("party", "--at", TOMORROW, "--channel", "204", "--user", "77", text="Luck!")
    look("jobs", "pause", "party")
    builder.log.execute("UPDATE job SET due_us = ?", (builder.at(60),))
    answer = look("jobs", "resume", "party")
    assert (answer.status, answer.err) == (2, "phasewalk: the time of 'party' has passed; make a new job\n")
    assert jobs(builder, "state") == [("paused",)]


@pytest.mark.spec("TURN-17", "OPS-13")
@pytest.mark.parametrize("verb", ["pause", "resume", "remove", "show"])
def test_an_unknown_name_is_status_3_and_names_those_there_are(look, add, verb):
    assert look("jobs", verb, "daily").err == "phasewalk: no job is called 'daily'; there are: none\n"
    add()
    answer = look("jobs", verb, "dialy")
    assert (answer.status, answer.out) == (3, "")
    assert answer.err == "phasewalk: no job is called 'dialy'; there are: daily\n"


@pytest.mark.spec("OPS-16")
@pytest.mark.parametrize("verb", ["", "add", "pause", "resume", "remove", "show"])
def test_help_ends_with_two_examples_and_exit_codes(look, verb):
    text = look("jobs", *([verb] if verb else []), "--help").out
    examples, _, codes = text.partition("Examples:\n")[2].partition("\n\n")
    assert [line.split()[:2] for line in examples.splitlines() if line.strip()] == [["phasewalk", "jobs"]] * 2
    assert codes.strip().startswith("Exit codes: 0 ok, 2 usage, ")


@pytest.mark.spec("TURN-17", "LOG-11")
def test_whoever_is_forgotten_leaves_no_job_behind(builder: LogBuilder, add):
    person = "322467610543259801"
    add("daily", *DAILY[:-1], person, text="my cat is called Theodora Marmalade the Third")
    add("other")
    builder.close()
    made, proof = forget(builder.path, person, "", "eve")
    assert (made.kept["job"], proof is not None and proof.left) == (1, 0)
    again = LogBuilder(builder.path)
    assert jobs(again, "name") == [("other",)]
    again.close()
