"""Requests for plans, and what a plan consists of."""
