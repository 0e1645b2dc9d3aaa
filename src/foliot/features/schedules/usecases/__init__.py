"""Use cases of schedules."""
