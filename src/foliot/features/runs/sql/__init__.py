"""SQL statements of runs."""
