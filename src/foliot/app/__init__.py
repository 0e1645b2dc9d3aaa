"""Composition root: builds the parts of one process from its settings."""
