"""Tests of articles."""
