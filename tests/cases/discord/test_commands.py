"""Staff look at the bot and steer it from Discord; everyone may be forgotten (DIS-10)."""

import asyncio
import contextlib
import sqlite3

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope
from phasewalk.surfaces.discord_testing.faults import status
from phasewalk.surfaces.discord_testing.permissions import Permission

REFUSAL = "Only the bot's staff may use this."
SECRET = "my street is called Ottersgate, number forty-two, behind the mill"


def bare(text: str) -> str:
    """What stands in the block that shows it letter by letter."""
    assert text.startswith("```\n"), text
    return text.removeprefix("```\n").partition("\n```")[0]


async def registered(bot) -> None:
    await bot.until(lambda: bot.world.commands.get(None))


async def printed(bot, *arguments: str) -> str:
    done = await asyncio.to_thread(bot.workplace.run, *arguments)
    return done.stdout.rstrip("\n")


@pytest.fixture
async def asked(bot):
    """A bot of which sam is staff by a role, that has answered ann; ann's message."""
    home = next(iter(bot.world.guilds.values()))
    role = next(role for role in home.roles.values() if role.name == "staff")
    async with ScriptedModelServer([envelope("Twelve.")] * 4) as server:
        bot.workplace.model(server.base_url, extra=f'[policy]\nstaff-roles = ["{role.id}"]\n')
        await bot.start()
        message = bot.world.say("general", "ann", SECRET, mention_bot=True)
        await bot.all_ended(1)
        await registered(bot)
        yield message


@pytest.mark.spec("DIS-10")
async def test_why_answers_with_the_text_of_the_command_line(bot, asked):
    expected = await printed(bot, "why", str(asked.id))
    assert expected.splitlines()[0].endswith("was answered by one/m-one, as it should be")
    link = f"https://discord.com/channels/1/{asked.channel.id}/{asked.id}"
    for used in (
        bot.world.message_menu(asked, "sam", "Why?"),
        bot.world.message_menu(bot.world.said()[0], "sam", "Why?"),
        bot.world.slash("general", "sam", "phasewalk why", {"message": link}),
    ):
        answer = await used.answered()
        assert (bare(answer.text), answer.private) == (expected, True)
        assert len(used.answers) == 1
    assert len(bot.world.said()) == 1, "nobody else sees an answer"


@pytest.mark.spec("DIS-10")
async def test_status_answers_with_the_first_screen(bot, asked):
    answer = await bot.world.slash("general", "sam", "phasewalk status").answered()
    expected = (await printed(bot, "status")).splitlines()
    shown = bare(answer.text).splitlines()
    assert (answer.private, shown[0], shown[-1]) == (True, expected[0], expected[-1])
    assert len(shown) == len(expected)


@pytest.mark.spec("DIS-10")
async def test_pause_and_resume_set_the_flag_and_say_who_did(bot, asked):
    sam = bot.world.user("sam")
    answer = await bot.world.slash("general", "sam", "phasewalk pause", {"note": "tea"}).answered()
    assert bare(answer.text).startswith("paused since ")
    assert bare(answer.text).endswith(f" by sam (discord {sam.id}): tea")
    assert bot.workplace.rows("SELECT set_by, note FROM runner_flag") == [(f"sam (discord {sam.id})", "tea")]
    again = await bot.world.slash("general", "sam", "phasewalk pause").answered()
    assert bare(again.text).startswith("nothing changed, the bot is paused since ")
    assert bare((await bot.world.slash("general", "sam", "phasewalk resume").answered()).text).startswith("resumed; ")
    last = await bot.world.slash("general", "sam", "phasewalk resume").answered()
    assert last.text == "nothing changed, the bot is not paused"
    audit = bot.workplace.rows("SELECT who, what FROM operator_action")
    assert audit == [(f"sam (discord {sam.id})", "pause"), (f"sam (discord {sam.id})", "resume")]


@pytest.mark.spec("DIS-10")
@pytest.mark.parametrize("command", ["status", "pause", "resume"])
async def test_others_get_one_sentence_and_nothing_is_done(bot, asked, command):
    used = bot.world.slash("general", "ben", f"phasewalk {command}", force=True)
    answer = await used.answered()
    assert (answer.text, answer.private, used.deferred) == (REFUSAL, True, False)
    assert bot.workplace.rows("SELECT count(*) FROM runner_flag") == [(0,)]


@pytest.mark.spec("DIS-10")
async def test_why_is_for_staff_as_well_and_not_in_private_conversations(bot, asked):
    assert (await bot.world.message_menu(asked, "ann", "Why?", force=True).answered()).text == REFUSAL
    used = bot.world.slash(bot.world.dm("sam"), "sam", "phasewalk why", {"message": "last"}, force=True)
    assert (await used.answered()).text == REFUSAL


@pytest.mark.spec("DIS-10")
async def test_who_manages_the_server_is_staff_and_so_is_its_owner(bot, asked):
    bot.world.add_member("eva", [bot.world.add_role("keeper", Permission.MANAGE_GUILD)])
    for name in ("eva", "olga"):
        assert bare((await bot.world.slash("general", name, "phasewalk status").answered()).text)


@pytest.mark.spec("DIS-10")
async def test_staff_of_another_server_are_told_of_none_of_this_ones_turns(bot, asked):
    other = bot.world.add_guild("Other", "ben")
    lobby = bot.world.add_channel("lobby", guild=other)
    for name in ("last", str(asked.id)):
        answer = await bot.world.slash(lobby, "ben", "phasewalk why", {"message": name}).answered()
        assert bare(answer.text).startswith(f"no turn '{name}' of this server; the log covers 1 turn")


@pytest.mark.spec("DIS-10")
async def test_an_owner_of_the_bot_is_staff_everywhere(bot):
    olga = bot.world.user("ben")
    bot.workplace.configure(f'[policy]\nowners = ["{olga.id}"]\n')
    await bot.start()
    await registered(bot)
    bot.world.say("general", "ann", "hello", mention_bot=True)
    await bot.all_ended(1)
    used = bot.world.slash(bot.world.dm("ben"), "ben", "phasewalk why", {"message": "last"})
    assert bare((await used.answered()).text) == await printed(bot, "why", "last")


@pytest.mark.spec("DIS-10")
async def test_a_message_that_opened_no_turn_is_one_sentence(bot, asked):
    quiet = bot.world.say("general", "beep", "beep")
    answer = await bot.world.message_menu(quiet, "sam", "Why?").answered()
    assert bare(answer.text).startswith(f"no turn '{quiet.id}' of this server")


@pytest.mark.spec("DIS-10")
async def test_a_command_that_fails_says_so(bot, asked):
    with contextlib.closing(sqlite3.connect(bot.workplace.database)) as log:
        log.execute("PRAGMA user_version = 99")
    answer = await bot.world.slash("general", "sam", "phasewalk status").answered()
    assert "written with schema version 99" in answer.text
    with contextlib.closing(sqlite3.connect(bot.workplace.database)) as log:
        log.execute("PRAGMA user_version = 4")
        log.execute("DROP TABLE fact")
        log.execute("DROP VIEW IF EXISTS effects")
        log.commit()
    answer = await bot.world.slash("general", "sam", "phasewalk status").answered()
    assert answer.text == "This failed (OperationalError); the operator of the bot was told."
    assert "a command of sam (discord " in bot.told


@pytest.mark.spec("DIS-10")
async def test_commands_are_registered_once_and_again_only_when_they_differ(bot):
    bot.workplace.configure("")
    await bot.start()
    await registered(bot)
    assert await bot.end() == 0
    await bot.start()
    await bot.until(lambda: len(bot.fake.requests_to("GET", "/applications/*/commands")) == 2)
    assert await bot.end() == 0
    assert len(bot.fake.requests_to("PUT", "/applications/*/commands")) == 1
    assert [(c["name"], c["type"]) for c in bot.world.commands[None]] == [("phasewalk", 1), ("Why?", 3)]
    bot.world.commands[None][0]["options"].pop()
    await bot.start()
    await bot.until(lambda: len(bot.fake.requests_to("PUT", "/applications/*/commands")) == 2)
    assert len(bot.world.commands[None][0]["options"]) == 5


@pytest.mark.spec("DIS-10")
async def test_a_registration_that_is_refused_is_told_and_the_bot_hears_all_the_same(bot):
    bot.workplace.configure("")
    bot.fake.faults.add("GET", "/applications/*/commands", status(403, 50001, "Missing Access"))
    await bot.start()
    await bot.until(lambda: "the commands could not be registered (Forbidden: 403" in bot.told)
    bot.world.say("general", "ann", "hello", mention_bot=True)
    await bot.all_ended(1)


@pytest.mark.spec("DIS-10", "LOG-11")
async def test_whoever_asks_is_forgotten_while_the_bot_runs(bot, asked):
    ann = str(bot.world.user("ann").id)
    bot.world.say("general", "ben", "how many?", mention_bot=True)
    await bot.all_ended(2)
    used = bot.world.slash("general", "ann", "phasewalk forget-me")
    answer = await used.answered(30)
    assert answer.private
    assert answer.text.startswith("Done: erased 1 turn, ")
    assert bot.workplace.rows("SELECT count(*) FROM turn WHERE user_id = ?", ann) == [(0,)]
    assert bot.workplace.rows("SELECT count(*) FROM turn") == [(1,)]
    data = b"".join(path.read_bytes() for path in bot.workplace.folder.glob("phasewalk.db*"))
    assert SECRET.encode() not in data
    assert ann.encode() not in data
    again = await bot.world.slash("general", "ann", "phasewalk forget-me").answered(30)
    assert again.text == "Nothing is kept of you."


@pytest.mark.spec("DIS-10", "LOG-11")
async def test_the_bot_goes_on_after_forgetting_and_refers_to_no_text_that_is_gone(bot, asked):
    await bot.world.slash("general", "ann", "phasewalk forget-me").answered(30)
    bot.world.say("general", "ann", SECRET, mention_bot=True)
    assert await bot.all_ended(1) == [("answered", "ok")]
    assert await bot.end() == 0
    shown = await printed(bot, "show", "last", "--detail", "--json")
    assert SECRET in shown
    done = await asyncio.to_thread(bot.workplace.run, "show", "last", "--detail")
    assert done.returncode == 0, "5 would tell of a payload that is gone"


@pytest.mark.spec("DIS-10", "LOG-11")
async def test_who_is_being_answered_is_asked_to_come_again_and_the_wish_is_written_down(bot):
    async with ScriptedModelServer([envelope("Twelve.")]) as server:
        server.delay = 30.0
        bot.workplace.model(server.base_url)
        bot.fake.hold("POST", "/channels/*/messages", after=False)
        await bot.start()
        await registered(bot)
        bot.world.say("general", "ann", "how many?", mention_bot=True)
        await bot.until(lambda: bot.turns("phase"))
        answer = await bot.world.slash("general", "ann", "phasewalk forget-me").answered(30)
        assert answer.text.startswith("You cannot be forgotten at this moment: ")
        assert bot.workplace.rows("SELECT who, what FROM operator_action") == [
            ("the person, on Discord", "asked to be forgotten")
        ]
        assert "runs still in process" in bot.told
