"""Values and rules of runs."""
