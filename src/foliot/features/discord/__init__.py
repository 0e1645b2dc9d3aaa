"""The Discord door: commands, buttons, and messages that follow a run."""
