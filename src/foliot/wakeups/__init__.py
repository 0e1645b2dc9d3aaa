"""Wakes and tells. A wake carries no data: whoever is woken reads the store."""
