"""Runs jobs and reminds of tasks when they are due (TURN-17).

Owns what a due job or task becomes: a scheduled turn. Computes no due time and stores nothing itself. Invariant: every
due time has one turn, whatever clocks and processes do, since its key is claimed once; of those that passed while
nobody ran, or while the job's last turn was at work, only the latest has one.
"""

from typing import ClassVar

from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Kind
from phasewalk.phases.reminders import reminder_of
from phasewalk.storage.jobs import KEY, Job, Reminder
from phasewalk.surfaces.background import Background, trigger_for
from phasewalk.surfaces.due_times import COUNTED, DueTimeError, DueTimes


class Scheduler:
    """Polls the jobs and tasks of an application; its turns are walked by a `Background`."""

    EVERY: ClassVar[float] = 1.0
    """Seconds between two polls."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._jobs = background.app.jobs
        self._unreadable: set[str] = set()

    async def run(self) -> None:
        """Until the process is asked to stop."""
        await self._background.polling(self.poll, self.EVERY)

    async def poll(self) -> None:
        """Move on what is due, and begin what is owed."""
        now_us = self._background.clock.now_us()
        for job in self._jobs.due(now_us):
            try:
                await self._move(job, now_us)
            except DueTimeError as error:  # a zone that this machine does not know
                if job.name not in self._unreadable:
                    self._unreadable.add(job.name)
                    self._background.say(f"job '{job.name}' cannot run: {error}")
        for job in self._jobs.owed():
            self._background.begin(job.name, _of_job(job), self._jobs.has_turn)
        for task in self._jobs.reminders(now_us):
            self._background.begin(f"task{task.number}", _of_task(task), self._jobs.has_turn)

    async def _move(self, job: Job, now_us: int) -> None:
        """Owe a turn for the latest due time that has come, and count those before it."""
        if job.due_us is None:
            return
        if job.kind == "one_off":
            await self._jobs.move(job, job.due_us, None, 0, now_us)
            return
        times = DueTimes.of(job.cron, job.zone)
        if job.due_us > now_us:  # the wall clock was set back: what has a turn by then will not get a second one
            await self._jobs.move(job, None, times.after(now_us), 0, now_us)
            return
        latest, missed = times.latest(job.due_us, now_us)
        if job.owed_us is not None and self._background.key_of(job.name) != _key(job.name, job.owed_us):
            missed += 1
        if await self._jobs.move(job, latest, times.after(latest), missed, now_us) and missed:
            many = f"{COUNTED} due times or more" if missed >= COUNTED else f"{missed} due time{'s'[: missed > 1]}"
            self._background.say(f"job '{job.name}' missed {many}; it runs once, for the latest")


def _key(name: str, due_us: int) -> str:
    return f"{KEY}:{name}:{due_us}"


def _of_job(job: Job) -> Trigger:
    return trigger_for(job, _key(job.name, job.owed_us or 0), Kind.SCHEDULED, job.text, job.families)


def _of_task(task: Reminder) -> Trigger:
    """A reminder of a task needs no tools, whatever words the task has."""
    text = reminder_of(task.user_name, task.number, task.text)
    return trigger_for(task, _key(f"task{task.number}", task.due_us), Kind.SCHEDULED, text)
