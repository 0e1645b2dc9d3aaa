"""Tests of wakeups."""
