"""Runs whose effect continues elsewhere, checked from time to time without holding a slot."""
