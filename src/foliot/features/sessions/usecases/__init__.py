"""Use cases of sessions, stream tickets and members."""
