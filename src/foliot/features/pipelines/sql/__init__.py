"""Statements on stored pipelines, and the SQL sink."""
