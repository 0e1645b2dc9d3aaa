"""Pipelines: chains of transforms that a YAML file defines, run on schedules."""
