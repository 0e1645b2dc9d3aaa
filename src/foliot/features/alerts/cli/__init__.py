"""`foliot alert …` and `foliot channel …`."""

from __future__ import annotations

from foliot.features.alerts.cli.alerts import group

__all__ = ["group"]
