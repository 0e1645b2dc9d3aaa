"""Tests of audit log."""
