"""Saved views: filters with a name and an order, of a user or shared with the tenant."""
