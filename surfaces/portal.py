"""Where a bot's token comes from: the variable that holds it here, and the place at Discord where it is made."""

TOKEN = "DISCORD_TOKEN"
"""The variable of the environment that holds the bot's token."""

PORTAL = "https://discord.com/developers/applications"
