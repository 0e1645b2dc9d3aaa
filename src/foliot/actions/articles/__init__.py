"""Fetches articles, each once for everybody who wants it, politely, and reads them."""

from foliot.actions.articles.action import Articles

__all__ = ["Articles"]
