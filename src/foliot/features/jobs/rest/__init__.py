"""HTTP routes of jobs."""
