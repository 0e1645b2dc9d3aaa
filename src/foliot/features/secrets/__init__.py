"""Secrets of tenants: encrypted at rest, write-only through the API, used by actions."""
