"""Mutes: groups of dead letters that need no attention for a while."""
