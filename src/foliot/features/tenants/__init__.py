"""Limits and allowed targets of tenants."""
