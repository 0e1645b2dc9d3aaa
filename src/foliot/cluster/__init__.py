"""Who executes."""
