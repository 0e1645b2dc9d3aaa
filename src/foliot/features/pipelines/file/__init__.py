"""Parses the YAML file that defines pipelines: with size limits, and with line and column of every error."""
