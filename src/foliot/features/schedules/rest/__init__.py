"""HTTP routes of schedules."""
