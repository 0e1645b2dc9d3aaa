"""Watches: pages that are visited again and again, their changes and versions."""
