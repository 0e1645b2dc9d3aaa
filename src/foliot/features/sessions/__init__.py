"""Dashboard sessions, login links, stream tickets, and the members of a tenant."""
