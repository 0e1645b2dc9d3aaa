"""Runs whose effect goes on elsewhere, checked from time to time without holding a slot."""
