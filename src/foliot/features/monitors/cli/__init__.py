"""`foliot monitor …` and `foliot ping`."""

from __future__ import annotations

from foliot.features.monitors.cli.monitors import group

__all__ = ["group"]
