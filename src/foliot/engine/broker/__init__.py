"""Distributes runs to workers on other machines through a message broker."""
