"""Statements on watches."""
