"""Tests of alerts."""
