"""Use cases of bulk actions."""
