"""API keys: creation, lookup by digest, revocation, last use."""
