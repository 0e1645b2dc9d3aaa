"""Runs a pipeline when a schedule fires."""
