"""One frozen value that says how this Foliot runs; every complaint names the key, the rule and what it got."""

from foliot.settings.database import masked
from foliot.settings.keys import unused
from foliot.settings.model import Settings
from foliot.settings.reading import Secret, SettingsError

__all__ = ["Secret", "Settings", "SettingsError", "masked", "unused"]
