"""Explains why a run happened, waits or failed, and why an instant has no run."""
