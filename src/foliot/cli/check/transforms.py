"""Checks the modules of transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding
from foliot.terminal.output import count

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "FOLIOT_TRANSFORMS"


def check(settings: Settings) -> list[Finding]:
    """Whether each module loads. Foliot starts without those that do not, and pipelines that need them are refused."""
    from foliot.features.pipelines.loader import load

    catalogue = load(settings.transforms)
    wrong = [Finding("error", KEY, fault.removeprefix(f"{KEY}: ")) for fault in catalogue.faults()]
    own = [view.name for view in catalogue.views() if not view.built_in]
    if not own:
        return wrong
    listed = f"{count(len(own), 'transform')} besides the built-in ones: {', '.join(own)}"
    return [*wrong, Finding("ok", KEY, listed)]
