"""The Discord surface, on the real discord.py client: what is heard there, and what is said."""
