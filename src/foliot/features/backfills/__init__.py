"""Backfills: runs for past instants, as a bulk action."""
