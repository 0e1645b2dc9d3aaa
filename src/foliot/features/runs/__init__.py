"""Runs: list, cancel, retry, follow and read the log."""
