"""Queries of attention, timeline and calendar."""
