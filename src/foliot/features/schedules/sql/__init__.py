"""SQL statements of schedules."""
