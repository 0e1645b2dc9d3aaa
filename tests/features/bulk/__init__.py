"""Tests of bulk."""
