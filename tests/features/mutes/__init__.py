"""Tests of mutes."""
