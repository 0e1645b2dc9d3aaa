"""Values and rules of bulk actions."""
