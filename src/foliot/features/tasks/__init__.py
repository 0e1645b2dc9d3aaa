"""Registered Python functions that a schedule runs by name."""
