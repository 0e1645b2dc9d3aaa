"""Usecases."""
