"""Tests of host sessions."""
