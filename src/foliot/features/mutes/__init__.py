"""Mutes."""
