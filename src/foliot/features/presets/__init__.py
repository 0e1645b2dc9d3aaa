"""Presets: packaged sets of schedules that are created together."""
