"""Runs a registered Python function when a schedule fires."""
