"""Tests of crawls."""
