"""The world that a bot lives in while it is tested, and a small one ready to use.

Owns what the bot is to Discord: its token, the privileged intents it was granted, what it typed, the nonces it used.
Knows no socket. Invariant: everything that a test sets up or asserts about Discord itself stands here.
"""

import time
from collections.abc import Callable, Iterable

from phasewalk.surfaces.discord_testing.interactions import Interacting
from phasewalk.surfaces.discord_testing.permissions import MODERATION, ORDINARY, Permission
from phasewalk.surfaces.discord_testing.values import Message, Typing

PRIVILEGED: dict[str, int] = {"members": 1 << 1, "presences": 1 << 8, "message_content": 1 << 15}
"""The intents that have to be switched on for an application, by name."""


class World(Interacting):
    """Guilds, people and a bot.

    `token` is the bot's only valid one; `privileged` are the intents switched on for its application; a nonce is
    remembered for `nonce_seconds`; an interaction has to be answered within `interaction_seconds`.
    """

    def __init__(
        self,
        bot: str = "walker",
        *,
        clock: Callable[[], float] = time.time,
        token: str = "fake-token",  # noqa: S107  - the fake's own, good for nothing else
        privileged: Iterable[str] = tuple(PRIVILEGED),
        nonce_seconds: float = 120.0,
        interaction_seconds: float = 3.0,
    ) -> None:
        self.token = token
        self.privileged = set(privileged)
        self.nonce_seconds = nonce_seconds
        self.interaction_seconds = interaction_seconds
        self.typing: list[Typing] = []
        self.nonces: dict[tuple[int, str], tuple[float, Message]] = {}
        super().__init__(bot, clock=clock)

    @property
    def reads_content(self) -> bool:
        """Whether the application was granted the message-content intent."""
        return "message_content" in self.privileged

    def said(self, text: str | None = None) -> list[Message]:
        """The bot's messages that stand, by id; with a text, those with exactly that."""
        mine = [
            message
            for channel in self.channels.values()
            for message in channel.messages.values()
            if message.author is self.bot and text in (None, message.content)
        ]
        return sorted(mine, key=lambda message: message.id)


def small_world(bot: str = "walker", *, bot_permissions: int | None = None, **options: object) -> World:
    """A guild "Test server" of olga (owner), sam (role staff), ann, ben, the bot, the bot beep and the webhook hook.

    Its channels are general, random and staff, the last seen by role staff and the bot alone. `options` are those
    of `World`; the bot may do what moderators do unless `bot_permissions` says otherwise.
    """
    world = World(bot, **options)  # type: ignore[arg-type]  # handed on as they came
    world.add_user("olga")
    may = ORDINARY | MODERATION if bot_permissions is None else bot_permissions
    world.add_guild("Test server", "olga", bot_permissions=may)
    world.add_role("staff", ORDINARY | MODERATION, position=10)
    world.add_member("sam", ["staff"])
    world.add_member("ann")
    world.add_member("ben")
    world.add_member(world.add_user("beep", bot=True))
    world.add_user("hook", webhook=True)
    world.add_channel("general")
    world.add_channel("random")
    staff = world.add_channel("staff", hidden_from=["@everyone"])
    for role in ("staff", "bot"):
        world.overwrite(staff, role, allow=Permission.VIEW_CHANNEL)
    return world
