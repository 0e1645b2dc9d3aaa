"""Use cases of plans."""
