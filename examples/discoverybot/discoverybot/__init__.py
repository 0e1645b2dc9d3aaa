"""Walks websites and notes what search engines see of them."""
