"""Tests of watches."""
