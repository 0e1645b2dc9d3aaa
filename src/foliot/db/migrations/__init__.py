"""The chain of migrations, for every database."""
