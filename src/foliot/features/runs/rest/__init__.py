"""HTTP routes of runs."""
