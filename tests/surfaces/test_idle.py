"""Follow-ups of conversations that went quiet, on a real log and a scripted model (TURN-17)."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from background import Runner, running

from phasewalk.machine.ports import Sight
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, status
from phasewalk.surfaces.sections import Configuration

MINUTE = 60_000_000


def configuration(server: ScriptedModelServer, *channels: str, after: str = "30m") -> Configuration:
    provider = {"name": "one", "base-url": server.base_url, "model": "m", "api-key-env": ""}
    return Configuration.model_validate({
        "providers": [provider],
        "limits": {"attempts": 1},
        "circuit": {"failures": 100},
        "idle": {"after": after, "channels": list(channels)},
    })  # fmt: skip


def later(minutes: float) -> int:
    return time.time_ns() // 1000 + int(minutes * MINUTE)


async def say(runner: Runner, message_id: str = "5001", **fields: object) -> None:
    """A message of mira in #general, walked to its end."""
    values = {
        "key": f"discord:{message_id}", "kind": Kind.USER, "text": "does the pump run?", "channel_id": "204",
        "channel_name": "general", "user_id": "77", "user_name": "mira", "guild_id": "9", "message_id": message_id,
        "addressed": Addressed.MENTION,
    }  # fmt: skip
    await runner.app.run(Trigger(**{**values, **fields}))


@asynccontextmanager
async def quiet(
    folder: Path,
    *script: object,
    minutes: float = 31,
    channels: tuple[str, ...] = ("general",),
    repeat_last: bool = False,
) -> AsyncIterator[Runner]:
    """A model and a process, so many minutes from now."""
    async with (
        ScriptedModelServer(script, repeat_last=repeat_last) as server,
        running(folder / "log.db", later(minutes), configuration(server, *channels)) as runner,
    ):
        yield runner


def asked(runner: Runner) -> int:
    """How often the model was asked."""
    return runner.rows("SELECT count(*) FROM attempt")[0][0]


def follow_ups(runner: Runner) -> list[tuple]:
    return runner.rows("SELECT trigger_key, outcome, reason FROM turn WHERE kind = 'idle' ORDER BY turn_id")


@pytest.mark.spec("TURN-17", "TURN-10")
async def test_a_conversation_that_went_quiet_is_followed_up_once(tmp_path: Path):
    async with quiet(
        tmp_path, envelope("It does."), envelope("Does it still run?"), minutes=29, channels=("#general",)
    ) as runner:
        await say(runner)
        await runner.poll()
        assert follow_ups(runner) == []
        await runner.clock.advance(120)
        await runner.poll(3)
        assert follow_ups(runner) == [("idle:204:77:5001:1", "answered", "ok")]
        assert runner.place.said == [("204", "It does."), ("204", "Does it still run?")]


@pytest.mark.spec("TURN-17")
async def test_a_silent_follow_up_is_not_tried_again(tmp_path: Path):
    async with quiet(tmp_path, envelope("It does."), envelope(None, answer_needed=False), channels=("204",)) as runner:
        await say(runner)
        await runner.poll(3)
        assert follow_ups(runner) == [("idle:204:77:5001:1", "silent", "answer_not_needed")]


@pytest.mark.spec("TURN-17")
async def test_after_a_known_failure_it_is_tried_again_five_times_in_all_each_its_own_turn(tmp_path: Path):
    async with quiet(tmp_path, envelope("It does."), status(400), repeat_last=True) as runner:
        await say(runner)
        await runner.poll(8)
        assert [(key, outcome) for key, outcome, _ in follow_ups(runner)] == [
            (f"idle:204:77:5001:{n}", "stopped") for n in (1, 2, 3, 4, 5)
        ]
        assert asked(runner) == 6
        assert runner.place.said == [("204", "It does.")]


@pytest.mark.spec("TURN-17")
async def test_a_try_that_succeeds_is_the_last(tmp_path: Path):
    script = [envelope("It does."), status(400), envelope("Does it still run?")]
    async with quiet(tmp_path, *script) as runner:
        await say(runner)
        await runner.poll(4)
        assert [outcome for _, outcome, _ in follow_ups(runner)] == ["stopped", "answered"]


@pytest.mark.spec("TURN-17")
@pytest.mark.parametrize(
    ("sights", "ended", "calls"),
    [
        ([Sight.OVERTAKEN], ("refused", "superseded"), 1),
        ([Sight.AS_IT_WAS, Sight.OVERTAKEN], ("cancelled", "superseded"), 2),
    ],
    ids=["before the model is asked", "while it is asked"],
)
async def test_new_activity_invalidates_a_follow_up_and_it_is_not_tried_again(tmp_path: Path, sights, ended, calls):
    async with quiet(tmp_path, envelope("It does."), envelope("Does it still run?")) as runner:
        await say(runner)
        runner.place.sights = sights
        await runner.poll(3)
        assert follow_ups(runner) == [("idle:204:77:5001:1", *ended)]
        assert (asked(runner), runner.place.said) == (calls, [("204", "It does.")])


@pytest.mark.spec("TURN-17")
async def test_whoever_has_spoken_since_is_followed_up_from_there(tmp_path: Path):
    script = [envelope("It does."), envelope(None, answer_needed=False), envelope("Sure."), envelope("Well?")]
    async with quiet(tmp_path, *script) as runner:
        await say(runner)
        await say(runner, "5002", addressed=None, text="hm")
        await runner.poll(2)
        assert follow_ups(runner) == []
        await say(runner, "5003")
        await runner.poll(2)
        assert [key for key, *_ in follow_ups(runner)] == ["idle:204:77:5003:1"]


@pytest.mark.spec("TURN-17")
@pytest.mark.parametrize(
    ("channels", "minutes", "said"),
    [((), 31, {}), (("help",), 31, {}), (("general",), 24 * 60 + 1, {}), (("general",), 31, {"addressed": None})],
    ids=["switched off", "another channel", "more than a day ago", "not spoken to"],
)
async def test_otherwise_nothing_is_followed_up(tmp_path: Path, channels, minutes, said):
    async with quiet(tmp_path, envelope("It does."), envelope("Still?"), minutes=minutes, channels=channels) as runner:
        await say(runner, **said)
        await runner.poll(2)
        assert follow_ups(runner) == []


@pytest.mark.spec("TURN-17", "TURN-10")
async def test_of_two_processes_one_follows_up(tmp_path: Path):
    script = [envelope("It does."), envelope("Still?")]
    async with ScriptedModelServer(script, repeat_last=True) as server:
        chosen, path = configuration(server, "general"), tmp_path / "log.db"
        async with running(path, later(31), chosen) as one, running(path, later(31), chosen) as other:
            await say(one)
            await one.idle.poll()
            await other.idle.poll()
            await one.settled()
            await other.settled()
            await one.poll()
            await other.poll()
            assert [key for key, *_ in follow_ups(one)] == ["idle:204:77:5001:1"]
            assert len(one.place.said) + len(other.place.said) == 2


@pytest.mark.spec("TURN-17")
def test_a_day_is_too_long_to_wait():
    with pytest.raises(ValueError, match="'1d' is a day or more"):
        Configuration.model_validate({"idle": {"after": "1d"}})
