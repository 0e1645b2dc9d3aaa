"""Api keys."""
