"""Foliot fires web work at the right instant, exactly once, and shows what happened and why."""

__version__ = "0.1.0"
