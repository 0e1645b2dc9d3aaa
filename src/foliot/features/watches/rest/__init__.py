"""Routes of watches and of changes."""
