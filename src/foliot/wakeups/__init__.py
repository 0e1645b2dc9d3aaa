"""Wake-ups: notifications without data that something changed; the receiver reads the database."""
