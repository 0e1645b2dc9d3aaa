"""The spiders, one per file."""
