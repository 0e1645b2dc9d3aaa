"""Commands of watches."""
