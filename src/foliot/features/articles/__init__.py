"""Fetches articles, each once for everybody who wants it, politely, and reads them."""
