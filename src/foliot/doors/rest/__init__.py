"""The HTTP door."""

from foliot.doors.rest.app import create_app
from foliot.doors.rest.guard import LOOPBACK

__all__ = ["LOOPBACK", "create_app"]
