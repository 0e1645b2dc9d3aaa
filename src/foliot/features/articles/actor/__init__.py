"""Loops that open batches, fetch their articles, and record the results."""
