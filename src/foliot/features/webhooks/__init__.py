"""Calls a URL when a schedule fires."""
