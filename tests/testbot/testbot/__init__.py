"""Spiders that do what a test needs them to do."""
