"""Dead letters: runs that failed for good, grouped by error and replayed."""
