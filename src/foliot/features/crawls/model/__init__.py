"""Requests for crawls and their jobs, without I/O."""
