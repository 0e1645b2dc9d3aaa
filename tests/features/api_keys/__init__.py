"""Tests of api keys."""
