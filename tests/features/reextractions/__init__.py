"""Tests of reading stored pages again."""
