"""Tests of polite fetching and stored pages."""
