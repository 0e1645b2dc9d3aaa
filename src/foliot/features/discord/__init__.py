"""The Discord bot: slash commands, buttons, and messages that follow a run."""
