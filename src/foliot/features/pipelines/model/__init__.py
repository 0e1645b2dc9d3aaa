"""Definitions of pipelines, contents of their file, and ports of their steps; without I/O."""
