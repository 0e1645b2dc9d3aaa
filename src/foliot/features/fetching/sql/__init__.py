"""Statements on hosts, their pauses and turns, and on stored pages."""
