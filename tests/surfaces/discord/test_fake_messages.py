"""The fake Discord carries messages to a real client and back."""

import io

import discord
import pytest
from discord_clients import Listener, connected, general

from phasewalk.surfaces.discord_testing import FakeDiscord, small_world

NOBODY = discord.AllowedMentions.none()


def without_content() -> discord.Intents:
    intents = discord.Intents.default()
    intents.members = True
    return intents


async def test_a_message_said_in_a_channel_reaches_the_client(fake, connect):
    client = await connect()
    fake.world.say("general", "ann", "what time is it?", mention_bot=True, attachments=["clock.png"])
    message = await client.told("message")
    assert message.content == f"<@{fake.world.bot.id}> what time is it?"
    assert (message.author.name, message.channel.name, message.guild.name) == ("ann", "general", "Test server")
    assert client.user in message.mentions
    assert [each.filename for each in message.attachments] == ["clock.png"]


async def test_files_go_both_ways_with_their_bytes(fake, connect):
    client = await connect()
    fake.world.say("general", "ann", "look", attachments=[{"filename": "a b.png", "content": b"\x89PNG"}])
    (sent,) = (await client.told("message")).attachments
    assert (sent.filename, sent.size, sent.content_type, await sent.read()) == ("a b.png", 4, "image/png", b"\x89PNG")
    await general(client).send(file=discord.File(io.BytesIO(b"mine"), "own.txt"), allowed_mentions=NOBODY)
    (own,) = (await client.told("message", 2)).attachments
    assert await own.read() == b"mine"
    assert fake.requests_to("POST", "/channels/*/messages")[0].files == ({"filename": "own.txt", "size": 4},)
    assert fake.pinging() == []


async def test_people_bots_and_webhooks_can_be_told_apart(fake, connect):
    client = await connect()
    for author in ("ann", "beep", "hook"):
        fake.world.say("general", author, "hello")
    await client.told("message", 3)
    authors = [(message.author.name, message.author.bot, message.webhook_id) for (message,) in client.heard["message"]]
    assert authors == [("ann", False, None), ("beep", True, None), ("hook", True, fake.world.user("hook").id)]


async def test_a_direct_message_reaches_the_client_and_is_answered(fake, connect):
    client = await connect()
    fake.world.say("@ann", "ann", "psst")
    message = await client.told("message")
    await message.channel.send("yes?", allowed_mentions=NOBODY)
    assert [each.content for each in fake.world.dm("ann").messages.values()] == ["psst", "yes?"]


async def test_one_nonce_sent_twice_is_one_message(fake, connect):
    channel = general(await connect())
    first = await channel.send("hello", nonce="turn-1-part-1")
    second = await channel.send("hello", nonce="turn-1-part-1")
    assert first.id == second.id
    assert len(fake.world.said()) == 1


async def test_a_nonce_is_forgotten_after_its_time(connect, fake):
    fake.world.nonce_seconds = 0.0
    channel = general(await connect())
    await channel.send("hello", nonce="once")
    await channel.send("hello", nonce="once")
    assert len(fake.world.said("hello")) == 2


@pytest.mark.parametrize(
    ("content", "nonce"),
    [("x" * 2001, None), ("\N{ROCKET}" * 1001, None), ("short", "n" * 26)],
    ids=["2001 letters", "1001 pairs of UTF-16 units", "nonce of 26"],
)
async def test_what_is_too_long_is_refused(connect, content, nonce):
    channel = general(await connect())
    with pytest.raises(discord.HTTPException) as refused:
        await channel.send(content, nonce=nonce)
    assert (refused.value.status, refused.value.code) == (400, 50035)


async def test_2000_units_and_a_nonce_of_25_are_accepted(connect, fake):
    await general(await connect()).send("\N{ROCKET}" * 1000, nonce="n" * 25)
    assert len(fake.world.said()) == 1


async def test_nothing_to_say_is_refused(connect):
    channel = general(await connect())
    with pytest.raises(discord.HTTPException) as refused:
        await channel.send("   ")
    assert refused.value.code == 50006


async def test_a_reply_names_what_it_answers(fake, connect):
    client = await connect()
    asked = fake.world.say("general", "ann", "why?")
    message = await client.told("message")
    await message.reply("because", allowed_mentions=NOBODY)
    await message.reply("listen")
    quiet, loud = fake.world.said()
    assert (quiet.reply_to, loud.reply_to) == (asked.id, asked.id)
    assert (list(quiet.pings), list(loud.pings)) == ([], [asked.author.id])


@pytest.mark.parametrize("must_exist", [True, False])
async def test_a_reply_to_a_deleted_message_fails_only_if_it_must_exist(fake, connect, must_exist):
    client = await connect()
    asked = fake.world.say("general", "ann", "why?")
    await client.told("message")
    fake.world.delete(asked)
    channel = general(client)
    reference = discord.MessageReference(message_id=asked.id, channel_id=channel.id, fail_if_not_exists=must_exist)
    if must_exist:
        with pytest.raises(discord.HTTPException, match="Unknown message"):
            await channel.send("because", reference=reference)
    else:
        await channel.send("because", reference=reference)
    assert [message.reply_to for message in fake.world.said("because")] == ([] if must_exist else [None])


async def test_whom_a_message_notifies_is_what_it_was_allowed_to(fake, connect):
    channel = general(await connect())
    ann, ben = fake.world.user("ann"), fake.world.user("ben")
    text = f"<@{ann.id}> <@{ben.id}>"
    await channel.send(text)
    await channel.send(text, allowed_mentions=NOBODY)
    await channel.send(text, allowed_mentions=discord.AllowedMentions(everyone=False, roles=False, users=[ben]))
    assert [list(message.pings) for message in fake.world.said()] == [[ann.id, ben.id], [], [ben.id]]
    assert [one.body["content"] for one in fake.pinging()] == [text]


async def test_only_those_who_may_notify_everyone_do(fake, connect):
    await connect()
    said = [fake.world.say("general", who, "@everyone look") for who in ("ann", "olga")]
    assert [message.everyone for message in said] == [False, True]


async def test_edits_and_previews_and_deletions_come_as_raw_events(fake, connect):
    client = await connect()
    message = fake.world.say("general", "ann", "helo", quietly=True)
    fake.world.edit(message, "hello")
    edit = await client.told("raw_message_edit")
    assert (edit.data["content"], edit.data["edited_timestamp"] is None, edit.cached_message) == ("hello", False, None)
    preview = fake.world.say("general", "ann", "https://example.org", quietly=True)
    fake.world.embed(preview)
    update = await client.told("raw_message_edit", 2)
    assert (update.data["edited_timestamp"], len(update.data["embeds"])) == (None, 1)
    fake.world.delete(message)
    assert (await client.told("raw_message_delete")).message_id == message.id
    more = [fake.world.say("general", "ann", str(number), quietly=True) for number in range(3)]
    fake.world.delete_many("general", more)
    assert (await client.told("raw_bulk_message_delete")).message_ids == {one.id for one in more}


async def test_the_bot_edits_and_deletes_its_own(fake, connect):
    message = await general(await connect()).send("helo", allowed_mentions=NOBODY)
    await message.edit(content="hello", allowed_mentions=NOBODY)
    assert [one.content for one in fake.world.said()] == ["hello"]
    assert fake.pinging() == []
    await message.delete()
    assert fake.world.said() == []


async def test_reactions_go_both_ways(fake, connect):
    client = await connect()
    said = fake.world.say("general", "ann", "good")
    message = await client.told("message")
    fake.world.react(said, "ben", "\N{FIRE}")
    assert (await client.told("raw_reaction_add")).emoji.name == "\N{FIRE}"
    await message.add_reaction("\N{EYES}")
    assert said.reactions["\N{EYES}"] == [fake.world.bot.id]
    fake.world.unreact(said, "ben", "\N{FIRE}")
    assert (await client.told("raw_reaction_remove")).message_id == said.id
    await message.clear_reactions()
    assert said.reactions == {}


async def test_history_is_read_back_in_pages_from_an_id_that_need_not_exist(fake, connect):
    said = [fake.world.say("general", "ann", str(number), quietly=True).id for number in range(250)]
    channel = general(await connect())
    gone = said[9]
    fake.world.delete(gone)
    after = [message.id async for message in channel.history(limit=None, after=discord.Object(gone), oldest_first=True)]
    assert after == said[10:]
    assert len(fake.requests_to("GET", "/channels/*/messages")) == 3
    newest = [message.id async for message in channel.history(limit=3)]
    assert newest == said[:-4:-1]
    before = [message.id async for message in channel.history(limit=2, before=discord.Object(said[5]))]
    assert before == [said[4], said[3]]
    around = [message.id async for message in channel.history(limit=3, around=discord.Object(said[20]))]
    assert sorted(around) == said[19:22]


async def test_typing_is_remembered_and_seen(fake, connect):
    client = await connect()
    async with general(client).typing():
        pass
    assert [one.channel.name for one in fake.world.typing] == ["general"]
    fake.world.type("general", "ann")
    assert (await client.told("raw_typing")).user_id == fake.world.user("ann").id


async def test_closed_direct_conversations_and_gone_channels_have_their_own_codes(fake, connect):
    client = await connect()
    fake.world.user("ann").dms_closed = True
    with pytest.raises(discord.Forbidden) as closed:
        await (await client.fetch_user(fake.world.user("ann").id)).send("hello")
    channel = general(client)
    message = await channel.send("first")
    fake.world.delete(message.id)
    with pytest.raises(discord.NotFound) as gone:
        await channel.fetch_message(message.id)
    fake.world.remove_channel("general")
    with pytest.raises(discord.NotFound) as missing:
        await channel.send("hello")
    assert (closed.value.code, gone.value.code, missing.value.code) == (50007, 10008, 10003)


async def test_what_the_bot_may_not_do_or_see_is_forbidden(fake, connect):
    client = await connect()
    general_, staff = fake.world.channel("general"), fake.world.channel("staff")
    send, view = discord.Permissions(send_messages=True).value, discord.Permissions(view_channel=True).value
    fake.world.overwrite(general_, "bot", deny=send)
    fake.world.overwrite(staff, "bot", deny=view)
    with pytest.raises(discord.Forbidden) as unable:
        await general(client).send("hello")
    with pytest.raises(discord.Forbidden) as blind:
        await client.get_channel(staff.id).send("hello")
    assert (unable.value.code, blind.value.code) == (50013, 50001)


async def test_bulk_deletion_keeps_discords_bounds(fake, connect):
    client = await connect()
    old = fake.world.say("general", "ann", "old", at=fake.world.clock() - 15 * 86400)
    new = [fake.world.say("general", "ann", "new") for _ in range(2)]
    await client.told("message", 3)
    channel = general(client)
    with pytest.raises(discord.HTTPException) as too_old:
        await channel.delete_messages([discord.Object(old.id), discord.Object(new[0].id)])
    await channel.delete_messages([discord.Object(one.id) for one in new])
    assert too_old.value.code == 50034
    assert [message.content for message in fake.world.channel("general").messages.values()] == ["old"]


async def test_a_thread_is_made_and_talked_in(fake, connect):
    client = await connect()
    said = fake.world.say("general", "ann", "a long story")
    message = await client.told("message")
    thread = await message.create_thread(name="story")
    await thread.send("go on", allowed_mentions=NOBODY)
    fake.world.say(thread.id, "ann", "once upon a time")
    assert (await client.told("message", 3)).channel.parent.name == "general"
    assert [one.content for one in fake.world.channel("story").messages.values()] == ["go on", "once upon a time"]
    assert said.thread is fake.world.channel("story")


async def test_without_the_content_intent_others_texts_are_empty_unless_they_name_the_bot(connect, fake):
    client = await connect(Listener(without_content()))
    for text, mention in (("secret", False), ("open", True)):
        fake.world.say("general", "ann", text, mention_bot=mention)
    fake.world.say("@ann", "ann", "direct")
    await client.told("message", 3)
    seen = [message.content for (message,) in client.heard["message"]]
    assert seen == ["", f"<@{fake.world.bot.id}> open", "direct"]


async def test_without_the_content_intent_switched_on_history_is_empty_too():
    world = small_world(privileged=["members"])
    async with FakeDiscord(world) as fake:
        world.say("general", "ann", "secret")
        async with connected(fake, Listener(without_content())) as client:
            assert [message.content async for message in general(client).history()] == [""]
            assert client.application_flags.gateway_message_content_limited is False
