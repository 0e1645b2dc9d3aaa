"""Authentication: tokens, API keys, sessions and the encryption of secrets."""
