"""Invitations: links by which a person signs in for the first time, under a name and with a role."""
