"""The fake Discord's members can be banned, kicked and timed out by a real client, and the audit log remembers."""

from datetime import timedelta

import discord
import pytest
from discord_clients import Listener

BAN_MEMBERS = discord.Permissions(ban_members=True).value


def member(client: discord.Client, name: str) -> discord.Member:
    return client.guilds[0].get_member_named(name)


async def test_a_ban_takes_a_day_of_messages_unless_told_not_to(fake, connect):
    client = await connect()
    kept = fake.world.say("general", "ben", "kept")
    fake.world.say("general", "ann", "gone")
    old = fake.world.say("general", "ann", "older than a day", at=fake.world.clock() - 90000)
    await client.guilds[0].ban(member(client, "ann"), reason="spam")
    await client.guilds[0].ban(member(client, "ben"), delete_message_seconds=0)
    bans = {ban.user.name: (ban.delete_message_seconds, ban.reason) for ban in fake.world.guild().bans.values()}
    assert bans == {"ann": (86400, "spam"), "ben": (0, None)}
    assert set(fake.world.channel("general").messages) == {kept.id, old.id}
    assert (await client.told("member_ban", 2)).name == "Test server"


async def test_a_ban_is_lifted_and_one_that_is_not_there_is_unknown(fake, connect):
    client = await connect()
    fake.world.ban("ann", "sam")
    user = await client.fetch_user(fake.world.user("ann").id)
    assert [entry.user.name async for entry in client.guilds[0].bans()] == ["ann"]
    await client.guilds[0].unban(user)
    with pytest.raises(discord.NotFound) as unknown:
        await client.guilds[0].fetch_ban(user)
    assert unknown.value.code == 10026


async def test_several_are_banned_at_once_and_whoever_cannot_be_is_named(fake, connect):
    client = await connect()
    result = await client.guilds[0].bulk_ban([member(client, "ann"), member(client, "olga")])
    assert [(user.id, fake.world.users[user.id].name) for user in result.banned] == [(fake.world.user("ann").id, "ann")]
    assert [user.id for user in result.failed] == [fake.world.user("olga").id]


async def test_a_member_is_kicked_and_then_unknown(fake, connect):
    client = await connect()
    ann = member(client, "ann")
    await ann.kick(reason="genug für heute")
    assert (await client.told("raw_member_remove")).user.name == "ann"
    assert fake.world.guild().audit[-1].reason == "genug für heute"
    with pytest.raises(discord.NotFound) as unknown:
        await client.guilds[0].fetch_member(ann.id)
    assert unknown.value.code == 10007


async def test_a_member_who_is_timed_out_may_only_look_until_it_ends(fake, connect):
    client = await connect()
    await member(client, "ann").timeout(timedelta(hours=1), reason="calm down")
    assert (await client.told("member_update")).name == "ann"
    fetched = await client.guilds[0].fetch_member(fake.world.user("ann").id)
    assert fetched.is_timed_out()
    assert not fake.world.allowed(fake.world.user("ann"), fake.world.channel("general")) & 1 << 11
    await fetched.timeout(None)
    assert fake.world.member("ann").timed_out_until is None


async def test_a_time_out_of_more_than_28_days_is_refused(connect):
    client = await connect()
    with pytest.raises(discord.HTTPException) as refused:
        await member(client, "ann").timeout(timedelta(days=29))
    assert refused.value.code == 50035


@pytest.mark.parametrize("name", ["olga", "chief"])
async def test_nobody_acts_on_the_owner_or_on_somebody_higher(fake, connect, name):
    fake.world.add_role("chiefs", position=60)
    fake.world.add_member("chief", ["chiefs"])
    client = await connect()
    with pytest.raises(discord.Forbidden) as refused:
        await member(client, name).kick()
    assert refused.value.code == 50013
    assert fake.world.member(name)


async def test_without_the_permission_nobody_is_banned(fake, connect):
    fake.world.guild().roles[next(iter(fake.world.member("walker").roles))].permissions = 0
    client = await connect()
    with pytest.raises(discord.Forbidden):
        await client.guilds[0].ban(member(client, "ann"))
    assert fake.world.guild().bans == {}


async def test_the_audit_log_says_who_did_what_to_whom_and_why(fake, connect):
    client = await connect()
    said = fake.world.say("general", "ann", "spam")
    await (await client.told("message")).delete()
    await member(client, "ann").timeout(timedelta(minutes=5), reason="spam")
    fake.world.kick("ben", "sam", reason="rude")
    kick = await client.told("audit_log_entry_create", 3)
    assert (kick.action, kick.user.name, kick.target.id) == (
        discord.AuditLogAction.kick,
        "sam",
        fake.world.user("ben").id,
    )
    entries = [entry async for entry in client.guilds[0].audit_logs()]
    assert [(entry.action.name, entry.user.name, entry.reason) for entry in entries] == [
        ("kick", "sam", "rude"),
        ("member_update", "walker", "spam"),
        ("message_delete", "walker", None),
    ]
    mine = [entry.action.name async for entry in client.guilds[0].audit_logs(user=client.user, oldest_first=True)]
    assert mine == ["message_delete", "member_update"]
    assert entries[2].extra.count == 1
    assert said.id not in fake.world.channel("general").messages


async def test_roles_are_given_and_taken(fake, connect):
    fake.world.guild().roles[next(iter(fake.world.member("walker").roles))].permissions |= 1 << 28
    role = fake.world.add_role("muted")
    client = await connect()
    await member(client, "ann").add_roles(discord.Object(role.id))
    assert role.id in fake.world.member("ann").roles
    await member(client, "ann").remove_roles(discord.Object(role.id))
    assert role.id not in fake.world.member("ann").roles


async def test_members_come_and_go(fake, connect):
    client = await connect(Listener())
    fake.world.add_member("newcomer")
    assert (await client.told("member_join")).name == "newcomer"
    fake.world.leave("newcomer")
    assert (await client.told("raw_member_remove")).user.name == "newcomer"
    with pytest.raises(LookupError, match="newcomer is no member of Test server"):
        fake.world.kick("newcomer", "sam")


def test_a_name_that_means_nothing_is_refused_with_what_there_is(fake):
    with pytest.raises(LookupError, match="no channel is called generall; there is: general, random, staff"):
        fake.world.say("generall", "ann", "hello")
