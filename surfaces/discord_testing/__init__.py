"""A fake Discord, REST and gateway on loopback, to test a bot against with its real client."""

from phasewalk.surfaces.discord_testing.server import FakeDiscord
from phasewalk.surfaces.discord_testing.world import World, small_world

__all__ = ["FakeDiscord", "World", "small_world"]
