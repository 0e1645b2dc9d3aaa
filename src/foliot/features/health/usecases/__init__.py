"""Use cases of health, metrics and standstills."""
