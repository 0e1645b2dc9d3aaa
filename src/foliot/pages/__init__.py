"""Parsers of what the web sends: charset, article text, metadata, prices."""
