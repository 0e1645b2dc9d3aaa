"""Statements on requests for crawls."""
