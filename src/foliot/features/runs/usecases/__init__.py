"""Use cases of runs."""
