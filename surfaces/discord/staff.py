"""Who may steer the bot from Discord: owners and staff of the configuration, and who manages the server.

Owns the rule, which is asked at every use of a command: what Discord offers to whom may be out of date. Invariant: in
a direct conversation only owners are staff.
"""

from collections.abc import Collection

import discord
from attrs import frozen

from phasewalk.surfaces.sections import PolicySection

REFUSAL = "Only the bot's staff may use this."


@frozen
class Staff:
    """`owners` are ids of people, `roles` ids of roles."""

    owners: Collection[str]
    roles: Collection[str]

    @classmethod
    def of(cls, policy: PolicySection) -> "Staff":
        """As `[policy]` names them."""
        return cls(frozenset(policy.owners), frozenset(policy.staff_roles))

    def owns(self, interaction: discord.Interaction) -> bool:
        """Whether this is one of the bot's owners, whom no server bounds."""
        return str(interaction.user.id) in self.owners

    def allows(self, interaction: discord.Interaction) -> bool:
        """Whether whoever uses a command is staff here."""
        if self.owns(interaction):
            return True
        if interaction.guild_id is None or not isinstance(interaction.user, discord.Member):
            return False
        worn = {str(role) for role in interaction.user._roles}  # noqa: SLF001 - `roles` leaves out those of an unknown guild
        may = interaction.permissions
        return bool(worn & set(self.roles)) or may.administrator or may.manage_guild
