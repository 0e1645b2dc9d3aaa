"""Use cases of watches."""
