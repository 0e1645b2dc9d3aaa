"""The Discord door: commands, buttons, and messages that follow a run."""

from foliot.doors.discord.door import DiscordDoor
from foliot.doors.discord.members import Members

__all__ = ["DiscordDoor", "Members"]
