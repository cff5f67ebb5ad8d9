"""What dies while an answer goes out, and how the next start settles it (TURN-14 to TURN-16, DIS-04)."""

import asyncio
import json
import signal
import sqlite3
from contextlib import closing

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, hang, slow
from phasewalk.surfaces.discord_testing.faults import status

POST = ("POST", "/channels/*/messages")
HISTORY = ("GET", "/channels/*/messages")
LONG = "First part. " + "word " * 300 + "\n\n" + "Second part. " + "word " * 300


async def killed_in_the_gap(bot, answer: str = "Here.", *, after: bool = True) -> None:
    """A process that dies after Discord took its answer (or before), and before it heard so."""
    async with ScriptedModelServer([envelope(answer)]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        gap = bot.fake.hold(*POST, after=after)
        bot.world.say("general", "ann", "well?", mention_bot=True)
        await bot.fake.held(gap)
        assert await bot.end(signal.SIGKILL) == -signal.SIGKILL
        gap.release()
        await asyncio.sleep(0.1)
    assert bot.turns() == [(None, None)]


def states(bot) -> list[tuple[str, str]]:
    return bot.workplace.rows("SELECT kind, state FROM effects ORDER BY intended_us")


def older(bot, seconds: float) -> None:
    """Let everything have happened so much earlier, as far as recovery looks at it."""
    with closing(sqlite3.connect(bot.workplace.database)) as log, log:
        log.execute("UPDATE effect_event SET at_us = at_us - ?", (int(seconds * 1e6),))


@pytest.mark.spec("TURN-14", "TURN-15", "DIS-04")
async def test_killed_before_it_heard_of_the_delivery_one_message_stands(bot):
    """Case 17: within the minute it is sent again under the same nonce."""
    await killed_in_the_gap(bot)
    await bot.start()
    assert await bot.all_ended(1) == [("answered", "ok")]
    assert await bot.end() == 0
    assert bot.said() == ["Here."]
    sent = bot.fake.requests_to(*POST)
    assert len(sent) == 2
    assert len({request.body["nonce"] for request in sent}) == 1
    assert states(bot) == [("answer", "done")]


@pytest.mark.spec("TURN-14", "TURN-15")
@pytest.mark.parametrize("arrived", [True, False])
async def test_once_the_nonce_is_forgotten_the_message_is_looked_for(bot, arrived):
    await killed_in_the_gap(bot, after=arrived)
    bot.world.nonces.clear()
    older(bot, 300)
    if not arrived:
        for message in bot.world.said():
            bot.world.delete(message)
    before = len(bot.fake.requests_to(*POST))
    await bot.start()
    assert await bot.all_ended(1) == [("answered", "ok")]
    assert await bot.end() == 0
    assert bot.said() == ["Here."]
    assert len(bot.fake.requests_to(*POST)) - before == (0 if arrived else 1)
    assert bot.fake.requests_to(*HISTORY)


@pytest.mark.spec("TURN-14")
async def test_what_neither_can_tell_is_in_doubt_until_a_person_decides(bot):
    await killed_in_the_gap(bot)
    bot.world.nonces.clear()
    older(bot, 300)
    bot.fake.faults.add(*HISTORY, status(403, 50001, "Missing Access"), 99)
    await bot.start()
    assert await bot.all_ended(1) == [("in_doubt", "delivery_in_doubt")]
    assert await bot.end() == 0
    assert bot.said() == ["Here."]
    ((effect,),) = bot.workplace.rows("SELECT effect_id FROM effects_in_doubt")
    for command in ("status", "stuck"):
        shown = await asyncio.to_thread(bot.workplace.run, command)
        assert shown.returncode != 0
        assert "doubt" in shown.stdout, command
    decided = await asyncio.to_thread(
        bot.workplace.run, "recover", "--resolve", effect, "--as", "done", "--note", "it stands there"
    )
    assert decided.returncode == 0, decided.stderr
    assert bot.workplace.rows("SELECT * FROM effects_in_doubt") == []
    assert bot.workplace.rows("SELECT what, target FROM operator_action")[0][1] == effect


@pytest.mark.spec("TURN-14", "DIS-04")
async def test_a_delivery_goes_on_at_the_first_part_without_receipt(bot):
    async with ScriptedModelServer([envelope(LONG)]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        first = bot.fake.hold(*POST)
        bot.world.say("general", "ann", "well?", mention_bot=True)
        await bot.fake.held(first)
        second = bot.fake.hold(*POST, after=False)
        first.release()
        await bot.fake.held(second)
        assert await bot.end(signal.SIGKILL) == -signal.SIGKILL
        second.release()
        await asyncio.sleep(0.2)
        await bot.start()
        assert await bot.all_ended(1) == [("answered", "ok")]
        assert await bot.end() == 0
        assert len(server.requests) == 1
    said = bot.said()
    assert [text.split(" ", 1)[0] for text in said] == ["First", "Second"]
    assert states(bot) == [("answer", "done"), ("answer", "done")]


@pytest.mark.spec("TURN-14")
async def test_recover_by_hand_reaches_discord_where_the_token_is_there(bot):
    await killed_in_the_gap(bot)
    bot.workplace.environment = bot.environment
    done = await asyncio.to_thread(bot.workplace.run, "recover", "--json")
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert [item["outcome"] for item in json.loads(done.stdout)["settled"]] == ["answered"]
    assert bot.said() == ["Here."]


@pytest.mark.spec("TURN-14")
async def test_recover_by_hand_without_a_token_leaves_it_and_says_so(bot):
    await killed_in_the_gap(bot)
    done = await asyncio.to_thread(bot.workplace.run, "recover")
    assert done.returncode == 1
    assert "DISCORD_TOKEN" in done.stdout
    assert bot.turns() == [(None, None)]


@pytest.mark.spec("TURN-14", "TURN-15", "DIS-03")
async def test_killed_while_the_model_was_asked_the_turn_runs_again_and_what_waited_is_not_lost(bot):
    async with ScriptedModelServer([hang(), envelope("One."), envelope("Two.")]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "one?", mention_bot=True)
        bot.world.say("general", "ben", "two?", mention_bot=True)
        await bot.until(lambda: server.requests)
        assert await bot.end(signal.SIGKILL) == -signal.SIGKILL
        await bot.start()
        assert await bot.all_ended(2) == [("answered", "ok")] * 2
        assert await bot.end() == 0
    assert bot.said() == ["One.", "Two."]


@pytest.mark.spec("TURN-16")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_asked_to_end_it_lets_a_turn_finish_within_the_grace(bot, number, code):
    async with ScriptedModelServer([slow(envelope("Done."), first_byte=1.5)]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "well?", mention_bot=True)
        await bot.until(lambda: server.requests)
        assert await bot.end(number) == code
    assert bot.turns() == [("answered", "ok")]
    assert bot.said() == ["Done."]
    assert bot.workplace.rows("SELECT end_reason FROM process WHERE command = 'bot'") == [("finished",)]


@pytest.mark.spec("TURN-16", "DIS-03")
async def test_what_does_not_finish_within_the_grace_ends_with_the_restart_notice(bot):
    async with ScriptedModelServer([hang(), envelope("Later.")]) as server:
        bot.workplace.model(server.base_url, delivery_grace=1.0)
        await bot.start()
        bot.world.say("general", "ann", "one?", mention_bot=True)
        await bot.until(lambda: server.requests)
        bot.world.say("general", "ben", "two?", mention_bot=True)
        await asyncio.sleep(0.3)
        assert await bot.end() == 0
        assert bot.turns() == [("cancelled", "shutting_down")]
        assert bot.said() == ["I am being restarted and had to stop. Please ask again in a minute."]
        await bot.start()
        assert (await bot.all_ended(2))[1] == ("answered", "ok")
        assert await bot.end() == 0


@pytest.mark.spec("TURN-16")
async def test_a_second_signal_ends_at_once_and_recovery_does_its_work(bot):
    async with ScriptedModelServer([hang(), envelope("Again.")]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "one?", mention_bot=True)
        await bot.until(lambda: server.requests)
        assert bot.process is not None
        bot.process.send_signal(signal.SIGINT)
        await asyncio.sleep(0.3)
        assert await bot.end(signal.SIGINT) in (130, -signal.SIGINT)
        await bot.start()
        (ended,) = await bot.all_ended(1)
        assert await bot.end() == 0
    said = {("answered", "ok"): ["Again."], ("cancelled", "cancelled"): []}  # the turn may have heard of it in time
    assert bot.said() == said[ended]
