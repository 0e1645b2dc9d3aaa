"""Seals and opens what must not be read at rest."""
