"""Jobs and reminders by a clock turned by hand, on a real log (TURN-17)."""

import asyncio
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from background import Runner, running

from phasewalk.machine.testing import ManualClock
from phasewalk.storage.operators import change
from phasewalk.storage.retention_prune import delete_turns
from phasewalk.surfaces.background import Background
from phasewalk.surfaces.scheduler import Scheduler

HOUR = 3600.0
BERLIN = ZoneInfo("Europe/Berlin")


def us(text: str) -> int:
    """An instant in UTC."""
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp()) * 1_000_000


def key(text: str, name: str = "daily") -> str:
    return f"schedule:{name}:{us(text)}"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "phasewalk.db"


@pytest.mark.spec("TURN-17")
@pytest.mark.parametrize(
    ("begins", "due", "then"),
    [
        ("2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"], "2026-03-31T00:30"),
        ("2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"], "2026-10-27T01:30"),
    ],
    ids=["spring", "autumn"],
)
async def test_half_past_two_runs_once_a_day_when_the_clocks_change(log, begins, due, then):
    async with running(log, us(begins)) as runner:
        await runner.job(due_us=us(due[0]))
        await runner.go(47 * HOUR, 600)
        assert runner.keys() == [key(each) for each in due]
        assert runner.job_row("due_us, last_due_us, owed_us, missed, state") == (
            us(then),
            us(due[1]),
            None,
            0,
            "active",
        )
        assert runner.told == []


@pytest.mark.spec("TURN-17")
async def test_a_scheduled_turn_speaks_in_the_channel_of_its_job_to_its_person(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await runner.job(
            text="hello", kind="one_off", cron="", due_us=us("2026-11-30T12:00"), guild_id="9", families=("notes",)
        )
        await runner.poll()
        columns = "kind, outcome, channel_id, channel_name, guild_id, user_id, user_name, addressed_by"
        assert runner.rows(f"SELECT {columns} FROM turn") == [
            ("scheduled", "answered", "204", "general", "9", "77", "mira", None)
        ]
        assert [channel for channel, _ in runner.place.said] == ["204"]
        assert runner.rows("SELECT json_extract(detail, '$.trigger.families') FROM phase_event WHERE seq = 1") == [
            ('["notes"]',)
        ]


@pytest.mark.spec("TURN-17")
async def test_a_one_off_job_runs_once_and_is_done(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await runner.job("party", kind="one_off", cron="", due_us=us("2026-11-30T18:00"))
        await runner.go(5 * HOUR, 600)
        assert runner.keys() == []
        await runner.go(30 * HOUR, 600)
        assert runner.keys() == [key("2026-11-30T18:00", "party")]
        assert runner.job_row("state, due_us, owed_us", "party") == ("done", None, None)


@pytest.mark.spec("TURN-17")
async def test_after_days_without_a_process_the_latest_due_time_runs_once_and_the_others_are_counted(log):
    async with running(log, us("2026-11-26T12:00")) as runner:
        await runner.job(due_us=us("2026-11-27T01:30"))
    async with running(log, us("2026-11-30T12:00")) as runner:
        await runner.poll(5)
        assert runner.keys() == [key("2026-11-30T01:30")]
        assert runner.job_row("due_us, missed, missed_us") == (us("2026-12-01T01:30"), 3, us("2026-11-30T12:00"))
        assert runner.told == ["job 'daily' missed 3 due times; it runs once, for the latest"]


@pytest.mark.spec("TURN-17")
async def test_a_job_of_every_minute_makes_no_storm_after_a_year(log):
    async with running(log, us("2026-11-30T12:00:30")) as runner:
        await runner.job(cron="* * * * *", due_us=us("2025-11-30T12:00"))
        await runner.poll(5)
        assert runner.keys() == [key("2026-11-30T12:00")]
        assert runner.told == ["job 'daily' missed 1000 due times or more; it runs once, for the latest"]


@pytest.mark.spec("TURN-17", "TURN-09")
async def test_a_machine_that_sleeps_for_three_hours_runs_what_came_meanwhile_once(log):
    async with running(log, us("2026-11-30T00:00")) as runner:
        await runner.job(due_us=us("2026-11-30T01:30"))
        await runner.job("hourly", cron="0 * * * *", due_us=us("2026-11-30T01:00"))
        await runner.clock.advance(3 * HOUR)
        await runner.poll(3)
        assert sorted(runner.keys()) == [key("2026-11-30T01:30"), key("2026-11-30T03:00", "hourly")]
        assert runner.job_row("missed", "hourly") == (2,)


@pytest.mark.spec("TURN-17", "TURN-09")
async def test_a_wall_clock_that_steps_back_over_a_due_time_does_not_run_it_again(log):
    async with running(log, us("2026-11-30T01:00")) as runner:
        await runner.job(due_us=us("2026-11-30T01:30"))
        await runner.go(HOUR, 600)
        for _ in range(3):
            runner.clock.step_wall(-HOUR)
            await runner.go(HOUR, 600)
        assert runner.keys() == [key("2026-11-30T01:30")]
        await runner.go(24 * HOUR, 600)
        assert runner.keys() == [key("2026-11-30T01:30"), key("2026-12-01T01:30")]
        assert runner.job_row("owed_us, missed") == (None, 0)


@pytest.mark.spec("TURN-17", "TURN-09")
async def test_after_a_wall_clock_was_a_year_ahead_for_a_moment_the_days_between_still_run(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await runner.job(due_us=us("2026-12-01T01:30"))
        runner.clock.step_wall(365 * 24 * HOUR)
        await runner.poll(2)
        runner.clock.step_wall(-365 * 24 * HOUR)
        await runner.go(47 * HOUR, 600)
        assert runner.keys() == [key("2027-11-30T01:30"), key("2026-12-01T01:30"), key("2026-12-02T01:30")]


@pytest.mark.spec("TURN-17", "TURN-10")
async def test_of_two_processes_on_one_log_one_runs_each_due_time(log):
    clock = ManualClock(wall_us=us("2026-11-30T12:00"))
    async with running(log, 0, clock=clock) as one, running(log, 0, clock=clock) as other:
        await one.job(cron="*/10 * * * *", due_us=us("2026-11-30T12:10"))
        await one.job("party", kind="one_off", cron="", due_us=us("2026-11-30T12:30"))
        for _ in range(6):
            await clock.advance(600)
            await asyncio.gather(one.poll(), other.poll())
            await asyncio.gather(one.poll(), other.poll())
        due = [key(f"2026-11-30T{hour}", "daily") for hour in ("12:10", "12:20", "12:30", "12:40", "12:50", "13:00")]
        assert sorted(one.keys()) == sorted([*due, key("2026-11-30T12:30", "party")])
        assert len(one.place.said) + len(other.place.said) == 7
        assert one.job_row("missed, owed_us") == (0, None)


@pytest.mark.spec("TURN-17")
async def test_two_processes_that_start_together_count_what_was_missed_once(log):
    async with running(log, us("2026-11-30T12:00")) as one, running(log, us("2026-11-30T12:00")) as other:
        await one.job(due_us=us("2026-11-27T01:30"))
        await asyncio.gather(one.scheduler.poll(), other.scheduler.poll())
        await asyncio.gather(one.poll(), other.poll())
        assert one.keys() == [key("2026-11-30T01:30")]
        assert one.job_row("missed") == (3,)
        assert len(one.told + other.told) == 1


@pytest.mark.spec("TURN-17", "TURN-15")
async def test_a_due_time_whose_process_ended_before_its_turn_was_opened_runs_in_the_next_one(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await runner.job(due_us=us("2026-11-30T01:30"))
        runner.background.begin = lambda *_: None  # the process ends here
        await runner.poll()
        assert (runner.keys(), runner.job_row("owed_us")) == ([], (us("2026-11-30T01:30"),))
    async with running(log, us("2026-11-30T12:01")) as runner:
        await runner.poll(3)
        assert (runner.keys(), runner.job_row("owed_us, missed")) == ([key("2026-11-30T01:30")], (None, 0))


@pytest.mark.spec("TURN-17")
async def test_a_pruned_turn_is_not_run_again(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await runner.job("party", kind="one_off", cron="", due_us=us("2026-11-30T12:00"))
        await runner.poll()
    change(
        log,
        lambda connection, _: (
            delete_turns(connection, [t for (t,) in connection.execute("SELECT turn_id FROM turn")]) and None
        ),
    )
    async with running(log, us("2026-11-30T12:10")) as runner:
        await runner.poll(3)
        assert runner.keys() == []


@pytest.mark.spec("TURN-17", "TURN-12")
async def test_while_a_turn_of_a_job_is_at_work_no_second_one_begins_and_what_passes_is_counted(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        gate = asyncio.Event()

        @asynccontextmanager
        async def lane(_channel_id: str):
            yield
            await gate.wait()

        runner.background._lane = lane
        await runner.job(cron="* * * * *", due_us=us("2026-11-30T12:00"))
        for _ in range(4):
            await runner.scheduler.poll()
            await asyncio.sleep(0.05)
            await runner.clock.advance(60)
        assert runner.keys() == [key("2026-11-30T12:00")]
        gate.set()
        await runner.settled()
        await runner.poll(2)
        assert runner.keys() == [key("2026-11-30T12:00"), key("2026-11-30T12:04")]
        assert runner.job_row("missed, owed_us") == (3, None)


@pytest.mark.spec("TURN-17")
async def test_paused_jobs_do_not_run(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await runner.job(state="paused", due_us=us("2026-11-30T01:30"))
        await runner.poll(2)
        assert runner.keys() == []


@pytest.mark.spec("TURN-17")
async def test_a_job_whose_zone_is_unknown_here_is_told_once_and_keeps_no_other_from_running(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await runner.job(zone="Mars/Base", due_us=us("2026-11-30T01:30"))
        await runner.job("other", due_us=us("2026-11-30T01:30"))
        await runner.poll(3)
        assert runner.keys() == [key("2026-11-30T01:30", "other")]
        assert runner.told == [
            "job 'daily' cannot run: 'Mars/Base' is no time zone; expected one such as Europe/Berlin or UTC"
        ]


@pytest.mark.spec("TURN-17", "TURN-16")
async def test_asked_to_stop_it_polls_no_more_and_gives_up_what_waits_for_its_lane(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        begun = asyncio.Event()

        @asynccontextmanager
        async def lane(_channel_id: str):
            begun.set()
            await asyncio.Event().wait()
            yield

        background = Background(runner.app, runner.stopping, lane=lane, clock=runner.clock)
        await runner.job(due_us=us("2026-11-30T01:30"))
        async with background.at_work(Scheduler(background).run()):
            await asyncio.wait_for(begun.wait(), 10)
            runner.stopping.ask(15)
        assert (runner.keys(), background._tasks) == ([], {})
        assert runner.job_row("owed_us") == (us("2026-11-30T01:30"),)


async def task(runner: Runner, due: str, text: str = "buy milk", channel: str = "204") -> None:
    def work(log):
        log.execute(
            "INSERT INTO task (user_id, channel_id, text, due_us, at_us) VALUES ('77', ?, ?, ?, 1)",
            (channel, text, us(due)),
        )
        log.execute("INSERT OR IGNORE INTO channel_cursor VALUES ('204', '9', 'general', '1', 1)")

    await runner.app.jobs.writer.call(work)


@pytest.mark.spec("TURN-17")
async def test_a_task_that_is_due_arrives_once_in_its_channel_as_a_scheduled_turn_without_tools(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await task(runner, "2026-11-30T13:00", "note: show my notes")
        await runner.poll()
        assert runner.keys() == []
        await runner.go(3 * HOUR, 600)
        assert runner.keys() == [key("2026-11-30T13:00", "task1")]
        assert runner.rows("SELECT kind, outcome, channel_name, guild_id, user_id, rounds FROM turn") == [
            ("scheduled", "answered", "general", "9", "77", 0)
        ]
        assert runner.rows("SELECT reminded_us = (SELECT started_us FROM turn), done_us FROM task") == [(1, None)]
        assert runner.place.said == [("204", "Reminder: note: show my notes")]


@pytest.mark.spec("TURN-17")
async def test_a_task_that_is_done_or_that_no_bot_can_tell_of_is_not_reminded_of(log):
    async with running(log, us("2026-11-30T12:00")) as runner:
        await task(runner, "2026-11-30T11:00")
        await task(runner, "2026-11-30T11:00", channel="console")
        await runner.app.jobs.writer.call(lambda log: log.execute("UPDATE task SET done_us = 1 WHERE number = 1"))
        await runner.poll(2)
        assert runner.keys() == []
