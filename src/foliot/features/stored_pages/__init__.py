"""Stored pages: bodies as they came, kept for a while, and read again without a request to their site."""
