"""Autocompletion of filter values and names."""
