"""Attention entries, timeline marks, and the aggregates they are built from."""
