"""Reads stored pages again, by selectors, an extractor or a pipeline; each reading makes a new version."""
