"""Statements on articles, batches and hosts."""
