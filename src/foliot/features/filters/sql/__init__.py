"""Filters as SQL: conditions on runs and schedules, counts and samples."""
