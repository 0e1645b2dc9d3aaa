"""Where results go besides the database, which stays what counts."""
