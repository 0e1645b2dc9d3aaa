"""Commands: programs of this machine as the action of a schedule."""
