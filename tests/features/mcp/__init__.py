"""Tests of the tools for agents."""
