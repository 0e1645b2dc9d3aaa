"""Queues: depth, workers, pause and resume."""
