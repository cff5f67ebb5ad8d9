"""`phasewalk doctor` asks Discord, and whatever Discord answers or does not is a finding with what to do."""

import asyncio
import json
import time
from email.utils import formatdate

import pytest
from builders import LogBuilder

from phasewalk.surfaces.discord_testing.faults import Fault, Refusal, hang, rate_limited, reset, status
from phasewalk.surfaces.discord_testing.permissions import EVERYTHING, MODERATION, ORDINARY, Permission
from phasewalk.surfaces.doctor import account, guilds


@pytest.fixture
def doctor(bot):
    """Run `phasewalk doctor --json` in a process; status and findings as (level, said)."""

    async def run(*options: str, **environment: str) -> tuple[int, list[tuple[str, str]]]:
        bot.workplace.environment = {**bot.environment, **environment}
        done = await asyncio.to_thread(bot.workplace.run, "doctor", "--json", *options)
        assert (done.stderr, done.returncode in (0, 1)) == ("", True)
        items = json.loads(done.stdout)["items"]
        return done.returncode, [
            (one["level"], f"{one['what']}; {one['fix']}") for one in items if one["area"] == "discord"
        ]

    return run


def worse(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [one for one in found if one[0] != "ok"]


@pytest.mark.spec("OPS-13", "DIS-02")
async def test_a_bot_that_lacks_nothing_is_told_so(bot, doctor):
    bot.workplace.configure('[bot]\nstaff-channel = "staff"\nallowed-channels = ["#random"]\n')
    code, found = await doctor()
    assert (code, worse(found)) == (0, [])
    assert [said for _, said in found] == [
        f"the token is accepted: walker ({bot.world.bot.id}); ",
        "the message content intent is on (limited: for a bot in fewer than 100 servers); ",
        "999 of 1000 connections are left; ",
        "server 'Test server': nothing is missing in 3 channels; ",
    ]
    assert all(request.method == "GET" for request in bot.fake.requests), "looking changes nothing"


@pytest.mark.spec("DIS-02")
async def test_an_intent_that_is_off_is_told_with_where_to_switch_it_on(bot, doctor):
    bot.world.privileged = {"members"}
    code, found = await doctor()
    assert code == 1
    assert worse(found) == [
        (
            "bad",
            (
                "the message content intent is off, and Discord will refuse the connection; switch on 'Message Content Intent'"
                f" at https://discord.com/developers/applications/{bot.world.bot.id}/bot under 'Privileged Gateway Intents',"
                " or set message-content = false under [discord]"
            ),
        )
    ]


@pytest.mark.spec("DIS-02")
@pytest.mark.parametrize(("passes", "level"), [("", "ok"), ('[moderation]\nevery = "15m"\n', "bad")])
async def test_an_intent_that_is_not_asked_for_is_needed_by_passes_alone(bot, doctor, passes, level):
    bot.world.privileged = set()
    bot.workplace.configure(f"[discord]\nmessage-content = false\n{passes}")
    _, found = await doctor()
    assert [one for one, said in found if "message content is not asked for" in said or "passes" in said] == [level]


@pytest.mark.spec("OPS-13")
async def test_a_wrong_token_is_one_finding_and_nothing_more_is_asked(bot, doctor):
    code, found = await doctor(DISCORD_TOKEN="other-token")
    assert code == 1
    assert found == [
        (
            "bad",
            (
                "it does not know the token in DISCORD_TOKEN; make a new one at"
                " https://discord.com/developers/applications under 'Bot' > 'Reset Token'"
            ),
        )
    ]
    assert len(bot.fake.requests) == 1


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (rate_limited(40.0), "it asks to wait 41 s (rate limited, /users/@me); "),
        (status(503), "it answered with status 503 (/users/@me); "),
        (reset(), "it cannot be reached (/users/@me): "),
    ],
    ids=["rate limited", "unavailable", "reset"],
)  # fmt: skip
async def test_trouble_of_the_network_is_one_finding(bot, doctor, fault, said):
    bot.fake.faults.add("GET", "/users/@me", fault, 9)
    code, found = await doctor()
    assert code == 1
    ((level, told),) = found
    assert (level, told.startswith(said)) == ("bad", True)


@pytest.mark.spec("OPS-13")
async def test_nobody_at_the_address_is_one_finding(doctor):
    code, found = await doctor(PHASEWALK_DISCORD_API="http://127.0.0.1:9/api/v10")
    assert code == 1
    ((level, told),) = found
    assert (level, told.startswith("it cannot be reached (/users/@me): ClientConnectorError")) == ("bad", True)


@pytest.mark.spec("OPS-13")
async def test_a_silent_discord_is_waited_for_some_seconds_only(bot, doctor):
    bot.fake.faults.add("GET", "/users/@me", hang())
    began = time.monotonic()
    code, found = await doctor()
    assert (code, found[0][1].partition(";")[0]) == (1, "it did not answer within 5 s (/users/@me)")
    assert time.monotonic() - began < account.PATIENCE + guilds.PATIENCE


@pytest.mark.spec("OPS-13")
async def test_a_server_that_cannot_be_asked_does_not_hide_the_others(bot, doctor):
    other = bot.world.add_guild("Other", "olga")
    bot.world.add_channel("lobby", guild=other)
    first = next(iter(bot.world.guilds))
    bot.fake.faults.add("GET", f"/guilds/{first}/channels", status(403, 50001, "Missing Access"), 9)
    code, found = await doctor()
    assert code == 1
    ((level, told),) = worse(found)
    assert (level, told.partition(" (")[0]) == ("bad", "server 'Test server' cannot be looked at")
    assert "Missing Access" in told
    assert ("ok", "server 'Other': nothing is missing in 1 channel; ") in found


@pytest.mark.spec("OPS-13")
async def test_what_the_bot_may_not_do_is_told_for_each_channel_with_where_to_allow_it(bot, doctor):
    bot.workplace.configure('[bot]\nstaff-channel = "staff"\n')
    bot.world.overwrite("staff", "bot", allow=Permission.VIEW_CHANNEL, deny=Permission.SEND_MESSAGES)
    bot.world.overwrite("random", "bot", deny=Permission.READ_MESSAGE_HISTORY | Permission.SEND_MESSAGES_IN_THREADS)
    code, found = await doctor()
    assert code == 1
    assert worse(found) == [
        (
            "warn",
            (
                "#random of 'Test server': the bot may not Read Message History, Send Messages in Threads;"
                " Edit Channel > Permissions > add 'bot', allow: Read Message History, Send Messages in Threads"
            ),
        ),
        (
            "bad",
            (
                "#staff of 'Test server' (bot.staff-channel): the bot may not Send Messages, Embed Links, Attach Files;"
                " Edit Channel > Permissions > add 'bot', allow: Send Messages, Embed Links, Attach Files"
            ),
        ),
    ]


@pytest.mark.spec("OPS-13")
async def test_what_a_named_channel_can_do_without_is_a_warning(bot, doctor):
    bot.workplace.configure('[bot]\nstaff-channel = "staff"\n')
    bot.world.overwrite("staff", "bot", allow=Permission.VIEW_CHANNEL, deny=Permission.ATTACH_FILES)
    code, found = await doctor()
    assert (code, [level for level, _ in worse(found)]) == (0, ["warn"])


@pytest.mark.spec("OPS-13")
async def test_a_channel_that_the_bot_does_not_see_counts_only_where_the_configuration_names_it(bot, doctor):
    for name in ("random", "staff"):
        bot.world.overwrite(name, "bot", deny=Permission.VIEW_CHANNEL)
    bot.workplace.configure('[bot]\nallowed-channels = ["random", "attic"]\n')
    _, found = await doctor()
    assert [said.partition(";")[0] for _, said in worse(found)] == [
        "#random of 'Test server' (bot.allowed-channels): the bot may not View Channel",
        "no channel is called 'attic' (bot.allowed-channels)",
    ]


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("log_only", []),
        ("notify_staff", []),
        ("timeout", ["needs Timeout Members, View Audit Log", "stands above the bot"]),
        (
            "policy",
            ["needs Timeout Members, Kick Members, Ban Members, Manage Messages, View Audit Log", "stands above the bot"],
        ),
    ],
)  # fmt: skip
async def test_moderation_needs_only_what_its_mode_does(bot, doctor, mode, said):
    home = next(iter(bot.world.guilds.values()))
    next(role for role in home.roles.values() if role.name == "bot").permissions = ORDINARY
    bot.world.add_role("elder", position=60)
    bot.workplace.configure(f'[moderation]\nmode = "{mode}"\n')
    _, found = await doctor()
    told = worse(found)
    assert len(told) == len(said)
    assert all(part in one for part, (_, one) in zip(said, told, strict=True))


@pytest.mark.spec("OPS-13")
async def test_a_role_that_is_spared_may_stand_above_the_bot(bot, doctor):
    elder = bot.world.add_role("elder", position=60)
    bot.workplace.configure(f'[policy]\nstaff-roles = ["{elder.id}"]\n[moderation]\nmode = "policy"\n')
    home = next(iter(bot.world.guilds.values()))
    next(role for role in home.roles.values() if role.name == "bot").permissions = ORDINARY | MODERATION
    code, found = await doctor()
    assert (code, worse(found)) == (0, [])
    assert ("ok", "server 'Test server': moderation (policy) may do what it needs; ") in found


@pytest.mark.spec("OPS-13")
async def test_a_bot_in_no_server_is_told_how_to_be_invited(bot, doctor):
    home = next(iter(bot.world.guilds.values()))
    del home.members[bot.world.bot.id]
    code, found = await doctor()
    ((level, told),) = worse(found)
    assert (code, level) == (0, "warn")
    assert told.startswith(
        "the bot is in no server; invite it: https://discord.com/oauth2/authorize?"
        f"client_id={bot.world.bot.id}&scope=bot+applications.commands&permissions="
    )
    permissions = int(told.rpartition("=")[2])
    assert permissions & Permission.SEND_MESSAGES
    assert permissions != EVERYTHING


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(("left", "level"), [(0, "bad"), (50, "warn"), (500, "ok")])
async def test_connections_that_run_out_are_told(bot, doctor, left, level):
    limit = {"total": 1000, "remaining": left, "reset_after": 7_200_000, "max_concurrency": 1}
    body = {"url": "ws://x", "shards": 1, "session_start_limit": limit}
    bot.fake.faults.add("GET", "/gateway/bot", Fault(Refusal(200, body)))
    _, found = await doctor()
    (told,) = [one for one in found if "connections are left" in one[1]]
    assert (told[0], told[1].partition(";")[0]) == (level, f"{left} of 1000 connections are left")
    assert ("2 h" in told[1]) == (level != "ok")


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize(
    ("ahead", "level", "said"),
    [(0, "ok", "it agrees with Discord's"), (30, "warn", "behind Discord's"), (-3600, "bad", "ahead of Discord's")],
)
async def test_a_clock_apart_from_discords_is_told(bot, ahead, level, said):
    body = {"id": str(bot.world.bot.id), "username": "walker"}
    date = {"Date": formatdate(time.time() + ahead, usegmt=True)}
    bot.fake.faults.add("GET", "/users/@me", Fault(Refusal(200, body, date)))
    bot.workplace.environment = bot.environment
    done = await asyncio.to_thread(bot.workplace.run, "doctor", "--json")
    items = [one for one in json.loads(done.stdout)["items"] if one["area"] == "clock"]
    assert (items[-1]["level"], said in items[-1]["what"]) == (level, True)


@pytest.mark.spec("OPS-13", "BAR-26")
async def test_offline_asks_nobody_and_no_secret_is_printed(bot, doctor):
    LogBuilder(bot.workplace.database).close()
    code, found = await doctor("--offline")
    assert (code, found) == (0, [("ok", "DISCORD_TOKEN is set; Discord was not asked (--offline); ")])
    assert bot.fake.requests == []
    for options in ((), ("--json",), ("--offline",)):
        done = await asyncio.to_thread(bot.workplace.run, "doctor", *options)
        assert "fake-token" not in done.stdout + done.stderr
    assert "DISCORD_TOKEN: set" in done.stdout
