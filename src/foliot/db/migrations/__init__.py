"""The one chain of migrations, for every database."""
